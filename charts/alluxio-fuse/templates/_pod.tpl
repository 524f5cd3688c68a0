{{- /* What pods have in common. */ -}}

{{- /* Scripts of a component, by file; a pod rolls only when one of its own changes. */ -}}
{{- define "alluxio.scriptsOf" -}}
master: [configure]
job-master: []
worker: [configure, claim, verify]
job-worker: []
mounts: [configure, mounts]
fuse: [configure, verify, fuse-wait, claim, fuse-prepare, fuse-live, fuse-ready]
stage: [verify, claim, stage-prepare]
startup-taint: [startup-taint]
csi: []
{{- end }}

{{- /* Digest of all that the containers of a pod read from ConfigMaps; of trust, which is not the chart's, what the user says. Takes {root, components, dataset}. */ -}}
{{- define "alluxio.checksum" -}}
{{- $all := "" -}}
{{- $scripts := include "alluxio.scriptsOf" . | fromYaml -}}
{{- range .components -}}
{{- if not (has . (list "stage" "startup-taint" "csi")) -}}
{{- $all = print $all (include "alluxio.properties" (dict "root" $.root "component" . "dataset" $.dataset)) -}}
{{- if $.dataset -}}{{- $all = print $all (include "alluxio.datasetUri" $) -}}{{- end -}}
{{- if $.root.Values.trust.configMap -}}{{- $all = print $all $.root.Values.trust.digest -}}{{- end -}}
{{- end -}}
{{- if and (eq . "stage") (include "alluxio.stage" $.root | fromYaml).alone -}}
{{- range include "alluxio.datasets" $.root | fromYamlArray -}}
{{- if .stage -}}{{- $all = print $all (include "alluxio.properties" (dict "root" $.root "component" "fuse" "dataset" .)) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- range get $scripts . -}}
{{- $all = print $all ($.root.Files.Get (printf "files/%s.sh" .)) -}}
{{- end -}}
{{- end -}}
{{- if has "mounts" .components -}}
{{- range include "alluxio.datasets" .root | fromYamlArray -}}
{{- $all = print $all (include "alluxio.datasetMount" (dict "root" $.root "dataset" .)) -}}
{{- end -}}
{{- end -}}
{{ sha256sum $all }}
{{- end }}

{{- /* metadata of a pod template. Takes {root, component, components, dataset, values (podLabels, podAnnotations), selector}. */ -}}
{{- define "alluxio.podMetadata" -}}
labels:
  {{- include "alluxio.selectorLabels" . | nindent 2 }}
  {{- with .values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  checksum/config: {{ include "alluxio.checksum" . }}
  {{- with .values.podAnnotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* First lines of a pod's spec. Alluxio's libjnifuse is built for x86-64 Linux alone. Takes {root, values (nodeSelector, tolerations, terminationGracePeriodSeconds), account}. */ -}}
{{- define "alluxio.podSpec" -}}
serviceAccountName: {{ default (include "alluxio.fullname" .root) .account }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with include "alluxio.priorityClass" .root }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.terminationGracePeriodSeconds }}
terminationGracePeriodSeconds: {{ . }}
{{- end }}
nodeSelector:
  {{- merge dict (default dict .values.nodeSelector) (dict "kubernetes.io/arch" "amd64" "kubernetes.io/os" "linux") | toYaml | nindent 2 }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "alluxio.restrictedPod" -}}
securityContext:
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
{{- end }}

{{- define "alluxio.restrictedContainer" -}}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- /* An init container that gives folders to others and does nothing else with its rights. */ -}}
{{- define "alluxio.chownContainer" -}}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL], add: [CHOWN, DAC_OVERRIDE, FOWNER]}
  readOnlyRootFilesystem: true
  runAsUser: 0
  runAsGroup: 0
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "alluxio.containerImage" -}}
image: {{ include "alluxio.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- /* Fills the conf folder in memory: the image's files, the site file, the trusted CAs. Takes {root, component, conf, key}. */ -}}
{{- define "alluxio.configureContainer" -}}
- name: configure-{{ .component }}
  {{- include "alluxio.containerImage" .root | nindent 2 }}
  command: [bash, /scripts/configure.sh]
  {{- include "alluxio.restrictedContainer" . | nindent 2 }}
  resources:
    requests: {cpu: 50m, memory: 64Mi}
    limits: {memory: 256Mi}
  volumeMounts:
    - {name: conf-{{ .component }}, mountPath: /conf}
    - {name: config, mountPath: /config/alluxio-site.properties, subPath: {{ default .component .key }}.properties, readOnly: true}
    - {name: scripts, mountPath: /scripts, readOnly: true}
    - {name: tmp, mountPath: /tmp}
    {{- if eq .component "master" }}
    - {name: journal, mountPath: /journal}
    {{- end }}
    {{- if .root.Values.trust.configMap }}
    - {name: trust, mountPath: /trust, readOnly: true}
    {{- end }}
    {{- if .root.Values.rpcPassword.secret }}
    - {name: rpc-password, mountPath: /password, readOnly: true}
    {{- end }}
{{- end }}

{{- /* Volumes of every pod. Takes {root, components}. */ -}}
{{- define "alluxio.volumes" -}}
- name: config
  configMap:
    name: {{ include "alluxio.fullname" .root }}
- name: scripts
  configMap:
    name: {{ include "alluxio.fullname" .root }}-scripts
{{- range .components }}
- name: conf-{{ . }}
  emptyDir: {medium: Memory, sizeLimit: 16Mi}
{{- end }}
- name: logs
  emptyDir: {sizeLimit: 1Gi}
- name: tmp
  emptyDir: {sizeLimit: 1Gi}
{{- with .root.Values.trust }}
{{- if .configMap }}
- name: trust
  configMap:
    name: {{ .configMap }}
    items:
      - {key: {{ .key }}, path: ca.crt}
{{- end }}
{{- end }}
{{- with .root.Values.rpcPassword }}
{{- if .secret }}
- name: rpc-password
  secret:
    secretName: {{ .secret }}
    items:
      - {key: {{ .key }}, path: rpc-password}
{{- end }}
{{- end }}
{{- end }}

{{- /* Start of a service's container. Takes {root, component, verb, jvm, resources, flags, env, underStore}; mounts may follow. */ -}}
{{- define "alluxio.serviceContainer" -}}
- name: {{ .component }}
  {{- include "alluxio.containerImage" .root | nindent 2 }}
  args: {{ toJson .verb }}
  resources:
    {{- toYaml .resources | nindent 4 }}
  {{- with get (include "alluxio.ports" . | fromYaml) .component }}
  ports:
    {{- include "alluxio.containerPorts" . | trim | nindent 4 }}
  {{- end }}
  env:
    - name: POD_NAME
      valueFrom: {fieldRef: {fieldPath: metadata.name}}
    - name: POD_IP
      valueFrom: {fieldRef: {fieldPath: status.podIP}}
    - name: NODE_NAME
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    - name: ALLUXIO_{{ .component | upper | replace "-" "_" }}_JAVA_OPTS
      value: >-
        {{ include "alluxio.javaOptions" (dict "root" .root "jvm" .jvm) }}
        {{- with .flags }}
        {{ . }}
        {{- end }}
    {{- with .env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- if and .underStore .root.Values.awsProfile.secret }}
    - {name: AWS_CREDENTIAL_PROFILES_FILE, value: /aws/credentials}
    {{- end }}
    {{- if and .underStore .root.Values.webIdentity.roleArn }}
    - {name: AWS_ROLE_ARN, value: {{ .root.Values.webIdentity.roleArn | quote }}}
    - {name: AWS_WEB_IDENTITY_TOKEN_FILE, value: /web-identity/token}
    - {name: AWS_REGION, value: {{ .root.Values.webIdentity.region | quote }}}
    - {name: AWS_STS_REGIONAL_ENDPOINTS, value: regional}
    {{- end }}
  volumeMounts:
    - {name: conf-{{ .component }}, mountPath: /opt/alluxio/conf}
    - {name: logs, mountPath: /opt/alluxio/logs, subPath: {{ .component }}}
    - {name: tmp, mountPath: /tmp, subPath: {{ .component }}}
    {{- if .underStore }}
    {{- if .root.Values.webIdentity.roleArn }}
    - {name: web-identity, mountPath: /web-identity, readOnly: true}
    {{- end }}
    {{- with include "alluxio.underStoreMounts" .root | trim }}{{ . | nindent 4 }}{{ end }}
    {{- end }}
{{- end }}

{{- /* What components that talk to the under store see: the AWS profile, and volumes that are datasets. */ -}}
{{- define "alluxio.underStoreMounts" -}}
{{- if .Values.awsProfile.secret }}
- {name: aws, mountPath: /aws, readOnly: true}
{{- end }}
{{- range include "alluxio.datasets" . | fromYamlArray }}
{{- if .volume }}
- name: source-{{ .name }}
  mountPath: {{ include "alluxio.datasetFolder" . }}
  {{- with .volume.subPath }}
  subPath: {{ . | quote }}
  {{- end }}
  readOnly: {{ not .writable }}
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.underStoreVolumes" -}}
{{- with .Values.awsProfile }}
{{- if .secret }}
- name: aws
  secret:
    secretName: {{ .secret }}
    items:
      - {key: {{ .key }}, path: credentials}
{{- end }}
{{- end }}
{{- with .Values.webIdentity }}
{{- if .roleArn }}
# The kubelet renews it, and gives it to the pod's group (fsGroup).
- name: web-identity
  projected:
    sources:
      - serviceAccountToken: {audience: {{ .audience | quote }}, path: token}
{{- end }}
{{- end }}
{{- range include "alluxio.datasets" . | fromYamlArray }}
{{- if .volume }}
- name: source-{{ .name }}
  {{- if .volume.claim }}
  persistentVolumeClaim:
    claimName: {{ .volume.claim | quote }}
    {{- if not .writable }}
    # Without it, the kubelet would give everything in it to the pod's group.
    readOnly: true
    {{- end }}
  {{- else if .volume.nfs }}
  nfs:
    {{- toYaml .volume.nfs | nindent 4 }}
    {{- if not .writable }}
    readOnly: true
    {{- end }}
  {{- else }}
  hostPath:
    path: {{ .volume.hostPath }}
    type: Directory
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.tcpProbe" -}}
tcpSocket: {port: {{ . }}}
timeoutSeconds: 5
{{- end }}

{{- /* A reader has the uid and gid that the dataset is for. */ -}}
{{- define "alluxio.testUser" -}}
{{- $name := .Values.tests.dataset }}
{{- $readers := dict "uid" 0 "gid" 0 }}
{{- range $index, $dataset := include "alluxio.datasets" . | fromYamlArray }}
{{- if or (eq $dataset.name $name) (and (eq $name "") (eq $index 0)) }}{{ $readers = $dataset.readers }}{{ end }}
{{- end -}}
securityContext:
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  readOnlyRootFilesystem: true
  runAsUser: {{ $readers.uid }}
  runAsGroup: {{ $readers.gid }}
  seccompProfile: {type: RuntimeDefault}
{{- end }}
