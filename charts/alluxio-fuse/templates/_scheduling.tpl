{{- /* Where pods run. */ -}}

{{- /* Affinity of masters: off spot nodes, one per node, and the user's own on top. */ -}}
{{- define "alluxio.masterAffinity" -}}
{{- $derived := dict -}}
{{- if .Values.master.avoidSpot -}}
{{- $_ := set $derived "nodeAffinity" (include "alluxio.avoidSpot" . | fromYaml) -}}
{{- end -}}
{{- if gt (int .Values.master.replicas) 1 -}}
{{- $labels := include "alluxio.selectorLabels" (dict "root" . "component" "master") | fromYaml -}}
{{- $term := dict "labelSelector" (dict "matchLabels" $labels) "topologyKey" "kubernetes.io/hostname" -}}
{{- $_ := set $derived "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) -}}
{{- end -}}
{{ toYaml (mergeOverwrite $derived (deepCopy .Values.master.affinity)) }}
{{- end }}

{{- /* One term: the expressions of a term hold together. A node without the label matches NotIn. */ -}}
{{- define "alluxio.avoidSpot" -}}
requiredDuringSchedulingIgnoredDuringExecution:
  nodeSelectorTerms:
    - matchExpressions:
        - {key: karpenter.sh/capacity-type, operator: NotIn, values: [spot]}
        - {key: eks.amazonaws.com/capacityType, operator: NotIn, values: [SPOT]}
        - {key: cloud.google.com/gke-spot, operator: NotIn, values: ["true"]}
        - {key: cloud.google.com/gke-preemptible, operator: NotIn, values: ["true"]}
        - {key: kubernetes.azure.com/scalesetpriority, operator: NotIn, values: [spot]}
{{- end }}

{{- /* Takes {root, component, values}. */ -}}
{{- define "alluxio.topologySpread" -}}
{{- with .values.topologySpread }}
topologySpreadConstraints:
  {{- range . }}
  - {{ toYaml . | nindent 4 | trim }}
    labelSelector:
      matchLabels:
        {{- include "alluxio.selectorLabels" $ | nindent 8 }}
  {{- end }}
{{- end }}
{{- end }}
