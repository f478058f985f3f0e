// Convert objects as Kueue's webhook does: one JSON object per line, each from its version into the other.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/kueue/apis/kueue/v1beta1"
	"sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

var kinds = map[string]func() (conversion.Convertible, conversion.Hub){
	"ClusterQueue": func() (conversion.Convertible, conversion.Hub) {
		return &v1beta1.ClusterQueue{}, &v1beta2.ClusterQueue{}
	},
	"Cohort":     func() (conversion.Convertible, conversion.Hub) { return &v1beta1.Cohort{}, &v1beta2.Cohort{} },
	"LocalQueue": func() (conversion.Convertible, conversion.Hub) { return &v1beta1.LocalQueue{}, &v1beta2.LocalQueue{} },
	"MultiKueueCluster": func() (conversion.Convertible, conversion.Hub) {
		return &v1beta1.MultiKueueCluster{}, &v1beta2.MultiKueueCluster{}
	},
	"Workload": func() (conversion.Convertible, conversion.Hub) { return &v1beta1.Workload{}, &v1beta2.Workload{} },
}

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

func converted(line []byte) any {
	var about struct{ APIVersion, Kind string }
	must(json.Unmarshal(line, &about))
	older, newer := kinds[about.Kind]()
	if strings.HasSuffix(about.APIVersion, "/v1beta1") {
		must(json.Unmarshal(line, older))
		must(older.ConvertTo(newer))
		return newer
	}
	must(json.Unmarshal(line, newer))
	must(older.ConvertFrom(newer))
	return older
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
