// Convert objects as OCM's webhook does: one JSON object per line, each from its version into the other.
package main

import (
	"bufio"
	"encoding/json"
	"log"
	"os"
	"strings"

	"open-cluster-management.io/ocm/pkg/addon/webhook/v1alpha1"
	"open-cluster-management.io/ocm/pkg/addon/webhook/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

var kinds = map[string]func() (conversion.Convertible, conversion.Hub){
	"ClusterManagementAddOn": func() (conversion.Convertible, conversion.Hub) {
		return &v1beta1.ClusterManagementAddOn{}, &v1alpha1.ClusterManagementAddOn{}
	},
	"ManagedClusterAddOn": func() (conversion.Convertible, conversion.Hub) {
		return &v1beta1.ManagedClusterAddOn{}, &v1alpha1.ManagedClusterAddOn{}
	},
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

// converted returns null for an object that the webhook refuses to convert.
func converted(line []byte) any {
	var about struct{ APIVersion, Kind string }
	must(json.Unmarshal(line, &about))
	newer, stored := kinds[about.Kind]()
	if strings.HasSuffix(about.APIVersion, "/v1beta1") {
		must(json.Unmarshal(line, newer))
		if newer.ConvertTo(stored) != nil {
			return nil
		}
		return stored
	}
	must(json.Unmarshal(line, stored))
	must(newer.ConvertFrom(stored))
	return newer
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
