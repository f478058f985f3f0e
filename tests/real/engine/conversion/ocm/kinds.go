package main

import (
	"open-cluster-management.io/ocm/pkg/addon/webhook/v1alpha1"
	"open-cluster-management.io/ocm/pkg/addon/webhook/v1beta1"
	"sigs.k8s.io/controller-runtime/pkg/conversion"
)

const mayRefuse = true

var kinds = map[string]pair{
	"ClusterManagementAddOn": func() (conversion.Convertible, conversion.Hub) {
		return &v1beta1.ClusterManagementAddOn{}, &v1alpha1.ClusterManagementAddOn{}
	},
	"ManagedClusterAddOn": func() (conversion.Convertible, conversion.Hub) {
		return &v1beta1.ManagedClusterAddOn{}, &v1alpha1.ManagedClusterAddOn{}
	},
}
