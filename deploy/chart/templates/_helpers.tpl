{{- define "sluice.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.fullname" -}}
{{- $name := include "sluice.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{ default $full .Values.fullnameOverride | trunc 49 | trimSuffix "-" }}
{{- end }}

{{- define "sluice.account" -}}
{{- if .Values.rbac.serviceAccount.create -}}
{{ default (include "sluice.fullname" .) .Values.rbac.serviceAccount.name }}
{{- else -}}
{{ default "default" .Values.rbac.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion | replace "+" "-" }}
{{- end }}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ include "sluice.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.additionalLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/*
The documents of a manifest in files/, each as an item of a list under "documents". They are those that kubectl applies, with the release's namespace,
names, account and labels in their place. With "keep" namespaces stay as they are, but for the account's.
*/}}
{{- define "sluice.documents" -}}
{{- $root := .root }}
{{- $full := include "sluice.fullname" $root }}
{{- $account := include "sluice.account" $root }}
{{- $text := $root.Files.Get .file | required (printf "the chart has no %s" .file) }}
{{- $text = regexReplaceAll "\\bsluice-(agent|capacity-gate|auth-delegator|viewer|reader)\\b" $text (printf "%s-${1}" $full) }}
{{- $text = replace "system:serviceaccount:kube-system:sluice\"" (printf "system:serviceaccount:%s:%s\"" $root.Release.Namespace $account) $text }}
{{- $text = replace "system:serviceaccount:kube-system:" (printf "system:serviceaccount:%s:" $root.Release.Namespace) $text }}
{{- $all := list }}
{{- range regexSplit "(?m)^---[ \t]*$" $text -1 }}
{{- $d := fromYaml . }}
{{- if $d.kind }}
{{- if and $d.metadata.namespace (not $.keep) }}
{{- $_ := set $d.metadata "namespace" $root.Release.Namespace }}
{{- end }}
{{- if eq $d.metadata.name "sluice" }}
{{- $_ := set $d.metadata "name" (eq $d.kind "ServiceAccount" | ternary $account $full) }}
{{- end }}
{{- if eq (dig "roleRef" "name" "" $d) "sluice" }}
{{- $_ := set $d.roleRef "name" $full }}
{{- end }}
{{- range $d.subjects }}
{{- if eq .kind "ServiceAccount" }}
{{- $_ := set . "namespace" $root.Release.Namespace }}
{{- if eq .name "sluice" }}
{{- $_ := set . "name" $account }}
{{- end }}
{{- end }}
{{- end }}
{{- $_ := set $d.metadata "labels" (merge (include "sluice.labels" $root | fromYaml) (default dict $d.metadata.labels)) }}
{{- $all = append $all $d }}
{{- end }}
{{- end }}
{{- dict "documents" $all | toYaml }}
{{- end }}
