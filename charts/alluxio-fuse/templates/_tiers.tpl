{{- /* Worker tiers: one Alluxio level per medium, one directory per entry, so entries of one medium do not meet. */ -}}

{{- define "alluxio.tierName" -}}
tier-{{ .medium }}-{{ .index }}
{{- end }}

{{- /* Entries by level, fastest first, as a YAML list of lists of {medium, index, quota, high, low}. */ -}}
{{- define "alluxio.tierLevels" -}}
{{- $levels := list -}}
{{- $watermarks := (include "alluxio.planned" . | fromYaml).watermarks -}}
{{- range $medium := list "memory" "ssd" "hdd" -}}
{{- $level := list -}}
{{- range $index, $tier := $.Values.worker.tiers -}}
{{- if eq $tier.medium $medium -}}
{{- $level = append $level (merge (dict "index" $index) $tier $watermarks) -}}
{{- end -}}
{{- end -}}
{{- if $level -}}{{- $levels = append $levels $level -}}{{- end -}}
{{- end -}}
{{ toYaml $levels }}
{{- end }}

{{- /* Bytes that a worker of the pool with the smallest ones holds. Takes what "alluxio.pools" fills. */ -}}
{{- define "alluxio.smallestWorker" -}}
{{- $smallest := 0 -}}
{{- range .roots -}}
{{- $holds := 0 -}}
{{- range .Values.worker.tiers -}}{{- $holds = add $holds (include "alluxio.bytes" .quota | int64) -}}{{- end -}}
{{- $smallest = ternary $holds (min $smallest $holds) (eq (int64 $smallest) 0) -}}
{{- end -}}
{{ $smallest }}
{{- end }}

{{- define "alluxio.tierProperties" -}}
{{- $levels := include "alluxio.tierLevels" . | fromYamlArray -}}
alluxio.worker.tieredstore.levels: {{ len $levels | quote }}
{{- range $number, $level := $levels }}
{{- $alias := get (dict "memory" "MEM" "ssd" "SSD" "hdd" "HDD") (first $level).medium }}
{{- $paths := list }}{{ $quotas := list }}{{ $media := list }}
{{- range $level }}
{{- $paths = append $paths (printf "/%s/blocks" (include "alluxio.tierMountPath" . | trimPrefix "/")) }}
{{- $quotas = append $quotas (include "alluxio.mebibytes" (dict "quantity" .quota "suffix" "MB")) }}
{{- $media = append $media $alias }}
{{- end }}
{{- $key := printf "alluxio.worker.tieredstore.level%d" $number }}
{{ $key }}.alias: {{ $alias }}
{{ $key }}.dirs.path: {{ join "," $paths }}
{{ $key }}.dirs.quota: {{ join "," $quotas }}
{{ $key }}.dirs.mediumtype: {{ join "," $media }}
{{ $key }}.watermark.high.ratio: {{ (first $level).high | quote }}
{{ $key }}.watermark.low.ratio: {{ (first $level).low | quote }}
{{- end }}
{{- end }}

{{- define "alluxio.tierMountPath" -}}
/tiers/{{ .medium }}-{{ .index }}
{{- end }}

{{- define "alluxio.tierMounts" -}}
{{- range $index, $tier := .Values.worker.tiers }}
{{- $at := dict "medium" $tier.medium "index" $index }}
- {name: {{ include "alluxio.tierName" $at }}, mountPath: {{ include "alluxio.tierMountPath" $at }}}
{{- end }}
{{- end }}

{{- /* Volumes of tiers. A DaemonSet's claim lives and dies with its pod; a StatefulSet's is a claim template. */ -}}
{{- define "alluxio.tierVolumes" -}}
{{- range $index, $tier := .Values.worker.tiers }}
{{- $name := include "alluxio.tierName" (dict "medium" $tier.medium "index" $index) }}
{{- if hasKey $tier "hostPath" }}
- name: {{ $name }}
  hostPath:
    path: {{ $tier.hostPath.path }}
    type: DirectoryOrCreate
{{- else if hasKey $tier "emptyDir" }}
- name: {{ $name }}
  emptyDir:
    sizeLimit: {{ include "alluxio.withSlack" $tier.quota }}
    {{- if eq $tier.medium "memory" }}
    medium: Memory
    {{- end }}
{{- else if eq $.Values.worker.kind "DaemonSet" }}
- name: {{ $name }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        {{- include "alluxio.claimSpec" (dict "size" (include "alluxio.withFilesystem" $tier.quota) "storageClass" $tier.claim.storageClass) | nindent 8 }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Spec of a claim that one pod writes. Takes {size, storageClass}. */ -}}
{{- define "alluxio.claimSpec" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}
