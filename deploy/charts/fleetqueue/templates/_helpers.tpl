{{- define "fleetqueue.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* What all names begin with; 40 characters leave room for "-controller-metrics". */}}
{{- define "fleetqueue.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "fleetqueue.controller" -}}
{{- printf "%s-controller" (include "fleetqueue.fullname" .) -}}
{{- end -}}

{{- define "fleetqueue.scoreAgent" -}}
{{- printf "%s-score-agent" (include "fleetqueue.fullname" .) -}}
{{- end -}}

{{/* Labels of every object. The label managed-by is Helm's here: fleetqueue as its value marks what the controller made. */}}
{{- define "fleetqueue.labels" -}}
app.kubernetes.io/name: {{ include "fleetqueue.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "fleetqueue.controller.labels" -}}
{{ include "fleetqueue.labels" . }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "fleetqueue.controller.selector" -}}
app.kubernetes.io/name: {{ include "fleetqueue.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: controller
{{- end -}}

{{- define "fleetqueue.scoreAgent.labels" -}}
{{ include "fleetqueue.labels" . }}
app.kubernetes.io/component: score-agent
{{- end -}}

{{- define "fleetqueue.scoreAgent.selector" -}}
app.kubernetes.io/name: {{ include "fleetqueue.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: score-agent
{{- end -}}

{{/* Labels of pods: people's own cannot take them away from their selector. */}}
{{- define "fleetqueue.controller.podLabels" -}}
{{- $selector := include "fleetqueue.controller.selector" . | fromYaml -}}
{{- toYaml (mergeOverwrite (dict) .Values.commonLabels .Values.controller.podLabels $selector) -}}
{{- end -}}

{{/* Labels of the agent's pods, and of all that the add-on makes on a worker. */}}
{{- define "fleetqueue.scoreAgent.podLabels" -}}
{{- $selector := include "fleetqueue.scoreAgent.selector" . | fromYaml -}}
{{- toYaml (mergeOverwrite (dict) .Values.commonLabels $selector) -}}
{{- end -}}

{{/* Annotations of the controller's pods. Who asks by ServiceMonitor and by annotation counts each leader twice. */}}
{{- define "fleetqueue.controller.podAnnotations" -}}
{{- $scrape := dict -}}
{{- if not .Values.metrics.serviceMonitor.enabled -}}
{{- $port := include "fleetqueue.port" .Values.controller.settings -}}
{{- $scrape = dict "prometheus.io/scrape" "true" "prometheus.io/port" $port -}}
{{- end -}}
{{- with mergeOverwrite $scrape .Values.controller.podAnnotations -}}
{{- toYaml . -}}
{{- end -}}
{{- end -}}

{{- define "fleetqueue.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The agent's image: its own, part by part, or the controller's. A tag or digest of the controller's image stays with it. */}}
{{- define "fleetqueue.scoreAgent.image" -}}
{{- $own := .Values.scoreAgent.image -}}
{{- $repository := default .Values.image.repository $own.repository -}}
{{- $digest := $own.digest | default (ternary "" .Values.image.digest (or (ne $own.tag "") (ne $own.repository ""))) -}}
{{- if $digest -}}
{{ $repository }}@{{ $digest }}
{{- else -}}
{{ $repository }}:{{ $own.tag | default .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* What the pod needs comes first, and what people set wins, but for what the rights are made for: that is refused. */}}
{{- define "fleetqueue.controller.settings" -}}
{{- if eq .Values.kueue.namespace .Release.Namespace -}}
{{- fail "install fleetqueue in a namespace of its own, such as fleetqueue-system: not in Kueue's, whose secrets are other people's" -}}
{{- end -}}
{{- $base := dict
  "kueue_namespace" .Values.kueue.namespace
  "namespace" .Release.Namespace
  "probes" (dict "host" "0.0.0.0")
  "logs" (dict "format" "json")
  "leader_election" (dict "name" (include "fleetqueue.controller" .))
-}}
{{- $settings := mergeOverwrite $base (deepCopy .Values.controller.settings) -}}
{{- $lease := get (default dict $settings.leader_election) "name" -}}
{{- if ne (toString $settings.kueue_namespace) .Values.kueue.namespace -}}
{{- fail "controller.settings.kueue_namespace is not where the controller has rights: set kueue.namespace instead" -}}
{{- else if ne (toString $settings.namespace) .Release.Namespace -}}
{{- fail "controller.settings.namespace is not where the controller has rights: it is the release's, given with --namespace" -}}
{{- else if ne (toString $lease) (include "fleetqueue.controller" .) -}}
{{- fail "controller.settings.leader_election.name is no Lease that the controller may take: set fullnameOverride instead" -}}
{{- end -}}
{{- toYaml $settings -}}
{{- end -}}

{{- define "fleetqueue.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "fleetqueue.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where a process with these settings is asked; one that takes any free port (0) cannot be asked, so it does not matter. */}}
{{- define "fleetqueue.port" -}}
{{- get (default dict .probes) "port" | default 8080 | int -}}
{{- end -}}

{{/* What is asked of every process of ours, given its settings. */}}
{{- define "fleetqueue.probes" -}}
ports:
  - name: probes
    containerPort: {{ include "fleetqueue.port" . }}
livenessProbe:
  httpGet:
    path: /healthz
    port: probes
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet:
    path: /readyz
    port: probes
  periodSeconds: 5
{{- end -}}

{{/* Rules that two files have. */}}
{{- define "fleetqueue.scoreAgent.workerRules" -}}
# See how much is free.
- apiGroups: [""]
  resources: [nodes, pods]
  verbs: [list, watch]
{{- if .Values.scoreAgent.fence.enabled }}
# Stop the hub's jobs when the hub cannot be reached for too long: copies that were sent in trust of that, and no others.
- apiGroups: [kueue.x-k8s.io]
  resources: [workloads]
  verbs: [list, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
# Delete the jobs of these copies, of every kind that MultiKueue sends.
- apiGroups: [""]
  resources: [pods]
  verbs: [delete]
- apiGroups: [apps]
  resources: [statefulsets]
  verbs: [delete]
- apiGroups: [batch]
  resources: [jobs]
  verbs: [delete]
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [delete]
- apiGroups: [kubeflow.org]
  resources: [jaxjobs, mpijobs, paddlejobs, pytorchjobs, tfjobs, xgboostjobs]
  verbs: [delete]
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: [delete]
- apiGroups: [ray.io]
  resources: [rayclusters, rayjobs, rayservices]
  verbs: [delete]
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: [delete]
- apiGroups: [workload.codeflare.dev]
  resources: [appwrappers]
  verbs: [delete]
{{- end }}
{{- end -}}

{{/* Keep what was promised to the hub, in the agent's own namespace. */}}
{{- define "fleetqueue.scoreAgent.ownRules" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [fleetqueue-fence]
  verbs: [get, patch]
{{- end -}}

{{/* Settings of the agent, each as a flag, in the order of their names. */}}
{{- define "fleetqueue.flags" -}}
{{- range $key, $value := .settings }}
{{- $path := ternary (printf "%s.%s" $.prefix $key) $key (ne $.prefix "") }}
{{- if kindIs "map" $value }}
{{- include "fleetqueue.flags" (dict "settings" $value "prefix" $path) }}
{{- else }}
- {{ printf "--set=%s=%s" $path (toJson $value) | squote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The agent's Deployment without its metadata: once in the add-on, once on its own. */}}
{{- define "fleetqueue.scoreAgent.deployment" -}}
{{- $root := .root -}}
replicas: 1
strategy:
  type: Recreate
selector:
  matchLabels:
    {{- include "fleetqueue.scoreAgent.selector" $root | nindent 4 }}
template:
  metadata:
    labels:
      {{- include "fleetqueue.scoreAgent.podLabels" $root | nindent 6 }}
  spec:
    serviceAccountName: {{ include "fleetqueue.scoreAgent" $root }}
    {{- with $root.Values.imagePullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $root.Values.scoreAgent.priorityClassName }}
    priorityClassName: {{ . }}
    {{- end }}
    securityContext:
      {{- include "fleetqueue.podSecurityContext" $root | nindent 6 }}
    {{- with $root.Values.scoreAgent.nodeSelector }}
    nodeSelector:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with $root.Values.scoreAgent.tolerations }}
    tolerations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    containers:
      - name: score-agent
        image: {{ include "fleetqueue.scoreAgent.image" $root | quote }}
        imagePullPolicy: {{ $root.Values.image.pullPolicy }}
        args:
          - score-agent
          - {{ printf "--cluster=%s" .cluster | quote }}
          - --hub-kubeconfig=/managed/hub-kubeconfig/kubeconfig
          {{- if .addOn }}
          - --set=scores.add_on={{ .addOn }}
          {{- end }}
          - --set=namespace={{ .namespace }}
          {{- if not $root.Values.scoreAgent.fence.enabled }}
          - --set=fence.enabled=false
          {{- end }}
          - --set=probes.host=0.0.0.0
          - --set=logs.format=json
          {{- with $root.Values.scoreAgent.settings }}
          {{- include "fleetqueue.flags" (dict "settings" . "prefix" "") | trim | nindent 10 }}
          {{- end }}
        {{- with $root.Values.scoreAgent.env }}
        env:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        {{- include "fleetqueue.probes" $root.Values.scoreAgent.settings | nindent 8 }}
        resources:
          {{- toYaml $root.Values.scoreAgent.resources | nindent 10 }}
        securityContext:
          {{- include "fleetqueue.securityContext" $root | nindent 10 }}
        volumeMounts:
          {{- if .secret }}
          - name: hub-kubeconfig
            mountPath: /managed/hub-kubeconfig
            readOnly: true
          {{- end }}
          - name: tmp
            mountPath: /tmp
    volumes:
      {{- if .secret }}
      - name: hub-kubeconfig
        secret:
          secretName: {{ .secret }}
      {{- end }}
      - name: tmp
        emptyDir:
          medium: Memory
          sizeLimit: 16Mi
{{- end -}}
