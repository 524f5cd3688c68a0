{{- /* Proves the storage of a pod before its service starts. Takes {root, tiers (bool)}. Renders nothing when there is nothing to prove. */ -}}
{{- define "alluxio.verifyContainer" -}}
{{- $root := .root -}}
{{- $words := list -}}
{{- $mounts := list -}}
{{- if .tiers -}}
{{- range $index, $tier := $root.Values.worker.tiers -}}
{{- if hasKey $tier "hostPath" -}}
{{- $path := include "alluxio.tierMountPath" (dict "medium" $tier.medium "index" $index) -}}
{{- if $tier.hostPath.mountPoint -}}
{{- $point := printf "/points/%d" $index -}}
{{- $words = concat $words (list "storage" $path $point $tier.hostPath.mountPoint) -}}
{{- $mounts = append $mounts (dict "name" (printf "point-%d" $index) "mountPath" $point "readOnly" true) -}}
{{- end -}}
{{- $words = concat $words (list "own" $path $tier.hostPath.path (include "alluxio.clusterName" $root)) -}}
{{- $mounts = append $mounts (dict "name" (include "alluxio.tierName" (dict "medium" $tier.medium "index" $index)) "mountPath" $path) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range include "alluxio.datasets" $root | fromYamlArray -}}
{{- if and .volume (dig "marker" "" .volume) -}}
{{- $words = concat $words (list "marker" (printf "%s/%s" (include "alluxio.datasetFolder" .) .volume.marker.file) .volume.marker.sha256) -}}
{{- end -}}
{{- end -}}
{{- if $words }}
- name: verify
  {{- include "alluxio.containerImage" $root | nindent 2 }}
  command: [bash, /scripts/verify.sh]
  args: {{ toJson $words }}
  env:
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
  {{- if $mounts }}
  {{- include "alluxio.chownContainer" . | nindent 2 }}
  {{- else }}
  {{- include "alluxio.restrictedContainer" . | nindent 2 }}
  {{- end }}
  resources:
    requests: {cpu: 10m, memory: 32Mi}
    limits: {memory: 64Mi}
  volumeMounts:
    - {name: scripts, mountPath: /scripts, readOnly: true}
    {{- with include "alluxio.underStoreMounts" $root | trim }}{{ . | nindent 4 }}{{ end }}
    {{- with $mounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
{{- end }}

{{- /* The mount points that verify compares with. */ -}}
{{- define "alluxio.verifyVolumes" -}}
{{- range $index, $tier := .Values.worker.tiers }}
{{- if dig "hostPath" "mountPoint" "" $tier }}
- name: point-{{ $index }}
  hostPath:
    path: {{ $tier.hostPath.mountPoint }}
    type: Directory
{{- end }}
{{- end }}
{{- end }}
