{{- /* The pod template of workers, the same for both kinds. Takes a root of `alluxio.pools`. */ -}}
{{- define "alluxio.workerPod" -}}
{{- $values := deepCopy .Values.worker }}
{{- with .Values.fuse.startupTaint }}
{{- if .enabled }}
{{- $_ := set $values "tolerations" (append $values.tolerations (dict "key" .key "operator" "Exists" "effect" "NoSchedule")) }}
{{- end }}
{{- end }}
{{- $components := list "worker" "job-worker" }}
{{- $scope := dict "root" . "component" (include "alluxio.component" (dict "root" . "kind" "worker")) "components" $components "values" $values }}
{{- $flags := "-Dalluxio.worker.hostname=$(POD_IP) -Dalluxio.locality.node=$(NODE_NAME)" }}
metadata:
  {{- include "alluxio.podMetadata" $scope | nindent 2 }}
spec:
  {{- include "alluxio.podSpec" $scope | nindent 2 }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with include "alluxio.topologySpread" $scope | trim }}{{ . | nindent 2 }}{{ end }}
  {{- include "alluxio.restrictedPod" . | nindent 2 }}
  initContainers:
    {{- range $components }}
    {{- include "alluxio.configureContainer" (dict "root" $ "component" . "key" (include "alluxio.component" (dict "root" $ "kind" .))) | nindent 4 }}
    {{- end }}
    {{- with include "alluxio.verifyContainer" (dict "root" . "tiers" true) | trim }}{{ . | nindent 4 }}{{ end }}
    {{- if .Values.shortCircuit.enabled }}
    - name: sockets
      {{- include "alluxio.containerImage" . | nindent 6 }}
      command: [chown, "1000:1000", /sockets]
      {{- include "alluxio.chownContainer" . | nindent 6 }}
      resources:
        requests: {cpu: 10m, memory: 16Mi}
        limits: {memory: 32Mi}
      volumeMounts:
        - {name: sockets, mountPath: /sockets}
    {{- end }}
  containers:
    {{- include "alluxio.serviceContainer" (dict "root" . "component" "worker" "verb" (list "worker-only" "--no-format") "jvm" $values.jvm "resources" $values.resources "flags" $flags "underStore" true) | nindent 4 }}
        {{- include "alluxio.tierMounts" . | trim | nindent 8 }}
        {{- if .Values.shortCircuit.enabled }}
        - {name: sockets, mountPath: /sockets}
        {{- end }}
      {{- include "alluxio.restrictedContainer" . | nindent 6 }}
      startupProbe:
        {{- include "alluxio.tcpProbe" "rpc" | nindent 8 }}
        periodSeconds: 5
        failureThreshold: 120
      readinessProbe:
        {{- include "alluxio.tcpProbe" "rpc" | nindent 8 }}
        periodSeconds: 10
      livenessProbe:
        {{- include "alluxio.tcpProbe" "rpc" | nindent 8 }}
        periodSeconds: 30
        failureThreshold: 6
    {{- include "alluxio.serviceContainer" (dict "root" . "component" "job-worker" "verb" (list "job-worker") "jvm" .Values.jobWorker.jvm "resources" .Values.jobWorker.resources "flags" $flags "underStore" true) | nindent 4 }}
      {{- include "alluxio.restrictedContainer" . | nindent 6 }}
      startupProbe:
        {{- include "alluxio.tcpProbe" "job-rpc" | nindent 8 }}
        periodSeconds: 5
        failureThreshold: 120
      livenessProbe:
        {{- include "alluxio.tcpProbe" "job-rpc" | nindent 8 }}
        periodSeconds: 30
        failureThreshold: 6
  volumes:
    {{- include "alluxio.volumes" $scope | trim | nindent 4 }}
    {{- with include "alluxio.underStoreVolumes" . | trim }}{{ . | nindent 4 }}{{ end }}
    {{- with include "alluxio.tierVolumes" . | trim }}{{ . | nindent 4 }}{{ end }}
    {{- with include "alluxio.verifyVolumes" . | trim }}{{ . | nindent 4 }}{{ end }}
    {{- if .Values.shortCircuit.enabled }}
    - name: sockets
      hostPath:
        path: {{ include "alluxio.socketPath" . }}
        type: DirectoryOrCreate
    {{- end }}
{{- end }}
