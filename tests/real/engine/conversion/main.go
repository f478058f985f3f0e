// Convert objects as a project's webhook does: one JSON object per line, each from its version into the other.
//
// Built together with one of the kinds.go beside it, which says what the project converts.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

// pair returns an empty v1beta1 object and an empty one of the other version, which all conversions go through.
type pair = func() (conversion.Convertible, conversion.Hub)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		if err := answers.Encode(converted(lines.Bytes())); err != nil {
			log.Fatal(err)
		}
	}
}

// converted returns null for an object that the webhook refuses to convert, if it may.
func converted(line []byte) any {
	var about struct{ APIVersion, Kind string }
	must(json.Unmarshal(line, &about))
	spoke, hub := kinds[about.Kind]()
	if strings.HasSuffix(about.APIVersion, "/v1beta1") {
		must(json.Unmarshal(line, spoke))
		err := spoke.ConvertTo(hub)
		if err != nil && mayRefuse {
			return nil
		}
		must(err)
		return hub
	}
	must(json.Unmarshal(line, hub))
	must(spoke.ConvertFrom(hub))
	return spoke
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
