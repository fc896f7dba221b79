{{- define "sluice.scheme" -}}
scheme: {{ ternary "HTTPS" "HTTP" (or .Values.webAuthorization.enabled (hasKey .Values.extraArgs "tls-cert-file")) }}
{{- end }}

{{- /* Settings of Azure, from values or from a Secret, and the variables of extraEnv. */}}
{{- define "sluice.env" -}}
{{- $plain := dict "ARM_SUBSCRIPTION_ID" .Values.azureSubscriptionID "ARM_RESOURCE_GROUP" .Values.azureResourceGroup "ARM_VM_TYPE" .Values.azureVMType "ARM_DEPLOYMENT" .Values.azureDeployment "ARM_USER_ASSIGNED_IDENTITY_ID" .Values.azureUserAssignedIdentityID }}
{{- if not .Values.azureUseManagedIdentityExtension }}
{{- $_ := set $plain "ARM_TENANT_ID" .Values.azureTenantID }}
{{- $_ := set $plain "ARM_CLIENT_ID" .Values.azureClientID }}
{{- end }}
{{- $switches := dict "ARM_USE_MANAGED_IDENTITY_EXTENSION" .Values.azureUseManagedIdentityExtension "ARM_USE_WORKLOAD_IDENTITY_EXTENSION" .Values.azureUseWorkloadIdentityExtension "AZURE_ENABLE_FORCE_DELETE" .Values.azureEnableForceDelete "AZURE_ENABLE_VMSS_ETAG" .Values.azureEnableVMSSEtag }}
{{- range $name, $on := $switches }}
{{- if $on }}
{{- $_ := set $plain $name "true" }}
{{- end }}
{{- end }}
{{- $secret := .Values.secretKeyRefNameOverride }}
{{- $keys := dict "ARM_SUBSCRIPTION_ID" "SubscriptionID" "ARM_RESOURCE_GROUP" "ResourceGroup" "ARM_VM_TYPE" "VMType" "ARM_TENANT_ID" "TenantID" "ARM_CLIENT_ID" "ClientID" "ARM_CLIENT_SECRET" "ClientSecret" }}
{{- range $name, $key := $keys }}
{{- if and $secret (not (get $plain $name)) }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: {{ $key }}
      optional: true
{{- end }}
{{- end }}
{{- if and .Values.azureClientSecret (not $secret) }}
- name: ARM_CLIENT_SECRET
  valueFrom:
    secretKeyRef:
      name: {{ include "sluice.fullname" . }}
      key: ClientSecret
{{- end }}
{{- range $name, $value := $plain }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.extraEnv }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- range $name, $value := .Values.extraEnvConfigMaps }}
- name: {{ $name }}
  valueFrom:
    configMapKeyRef:
      name: {{ default (include "sluice.fullname" $) $value.name }}
      key: {{ $value.key }}
{{- end }}
{{- range $name, $value := .Values.extraEnvSecrets }}
- name: {{ $name }}
  valueFrom:
    secretKeyRef:
      name: {{ default (include "sluice.fullname" $) $value.name }}
      key: {{ $value.key }}
{{- end }}
{{- end }}
