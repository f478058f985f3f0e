package main

import (
	"sigs.k8s.io/controller-runtime/pkg/conversion"
	"sigs.k8s.io/kueue/apis/kueue/v1beta1"
	"sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

const mayRefuse = false

var kinds = map[string]pair{
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
