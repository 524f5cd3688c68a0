{{- /* Where pods run. */ -}}

{{- /* Affinity of masters: off spot nodes, one per node, and the user's own on top. */ -}}
{{- define "alluxio.masterAffinity" -}}
{{- $affinity := deepCopy .Values.master.affinity -}}
{{- $required := "requiredDuringSchedulingIgnoredDuringExecution" -}}
{{- if .Values.master.avoidSpot -}}
{{- $expressions := include "alluxio.avoidSpot" . | fromYamlArray -}}
{{- $terms := list -}}
{{- range dig "nodeAffinity" $required "nodeSelectorTerms" (list dict) $affinity -}}
{{- $terms = append $terms (set . "matchExpressions" (concat (default list .matchExpressions) $expressions)) -}}
{{- end -}}
{{- $_ := set $affinity "nodeAffinity" (set (default dict $affinity.nodeAffinity) $required (dict "nodeSelectorTerms" $terms)) -}}
{{- end -}}
{{- if gt (int .Values.master.replicas) 1 -}}
{{- $labels := include "alluxio.selectorLabels" (dict "root" . "component" "master") | fromYaml -}}
{{- $term := dict "labelSelector" (dict "matchLabels" $labels) "topologyKey" "kubernetes.io/hostname" -}}
{{- $terms := append (dig "podAntiAffinity" $required list $affinity) $term -}}
{{- $_ := set $affinity "podAntiAffinity" (set (default dict $affinity.podAntiAffinity) $required $terms) -}}
{{- end -}}
{{ toYaml $affinity }}
{{- end }}

{{- /* Expressions of a term hold together, so they join each of the user's. A node without the label matches NotIn. */ -}}
{{- define "alluxio.avoidSpot" -}}
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
