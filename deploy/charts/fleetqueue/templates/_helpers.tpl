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
app.kubernetes.io/component: controller
{{- end -}}

{{- define "fleetqueue.scoreAgent.labels" -}}
{{ include "fleetqueue.labels" . }}
app.kubernetes.io/component: score-agent
{{- end -}}

{{- define "fleetqueue.scoreAgent.selector" -}}
app.kubernetes.io/name: {{ include "fleetqueue.name" . }}
app.kubernetes.io/component: score-agent
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

{{/* The namespaces are values, so they are not settings; what the pod needs comes first, and what people set wins. */}}
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
{{- toYaml (mergeOverwrite $base (deepCopy .Values.controller.settings)) -}}
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

{{/* What is asked of every process of ours. */}}
{{- define "fleetqueue.probes" -}}
ports:
  - name: probes
    containerPort: 8080
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
- apiGroups: [""]
  resources: [nodes, pods]
  verbs: [list, watch]
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
selector:
  matchLabels:
    {{- include "fleetqueue.scoreAgent.selector" $root | nindent 4 }}
template:
  metadata:
    labels:
      {{- include "fleetqueue.scoreAgent.selector" $root | nindent 6 }}
  spec:
    serviceAccountName: {{ include "fleetqueue.scoreAgent" $root }}
    {{- with $root.Values.imagePullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      {{- include "fleetqueue.podSecurityContext" $root | nindent 6 }}
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
          - --set=probes.host=0.0.0.0
          - --set=logs.format=json
          {{- with $root.Values.scoreAgent.settings }}
          {{- include "fleetqueue.flags" (dict "settings" . "prefix" "") | trim | nindent 10 }}
          {{- end }}
        {{- include "fleetqueue.probes" $root | nindent 8 }}
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
