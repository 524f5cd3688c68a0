{{- /* What the values may not say, one sentence per line, each with what to write. */ -}}
{{- define "alluxio.refusals" -}}
{{- include "alluxio.nodeRefusals" . }}
{{- include "alluxio.poolRefusals" . }}
{{- include "alluxio.stageRefusals" . }}
{{- $values := .Values }}
{{- if and (eq $values.image.kind "official") (gt (int $values.image.java) 11) }}
image.java is {{ $values.image.java }}, but alluxio/alluxio carries 8 or 11: write image.java 11, or image.kind project
{{- end }}
{{- if and (eq $values.image.kind "official") $values.trust.configMap }}
trust.configMap: the official image cannot be given CAs: build them into an image of yours, or write image.kind project
{{- end }}
{{- if and (eq $values.image.kind "official") $values.rpcPassword.secret }}
rpcPassword.secret: the official image knows no password: write image.kind project, or leave it empty and keep others away with networkPolicy
{{- end }}
{{- if and (eq $values.worker.kind "DaemonSet") $values.worker.topologySpread }}
worker.topologySpread spreads a StatefulSet, and worker.kind is DaemonSet, which has a worker on each node that matches: remove it, or write worker.kind StatefulSet
{{- end }}
{{- if and (hasPrefix "system-" $values.priorityClass.name) $values.priorityClass.create }}
priorityClass.name {{ $values.priorityClass.name }} belongs to Kubernetes: write priorityClass.create false to use it
{{- end }}
{{- if and $values.shortCircuit.path (not $values.shortCircuit.enabled) }}
shortCircuit.path is set, but short circuit is off: write shortCircuit.enabled true, or remove the path
{{- end }}
{{- if and $values.tests.dataset (not (has $values.tests.dataset (include "alluxio.datasetNames" . | fromYamlArray))) }}
tests.dataset {{ $values.tests.dataset }} is not a dataset: write one of {{ include "alluxio.datasetNames" . | fromYamlArray | join ", " | default "none, datasets is empty" }}
{{- end }}
{{- if and $values.fuse.startupTaint.enabled (not $values.fuse.enabled) }}
fuse.startupTaint waits for mounts, but fuse.enabled is false: write fuse.startupTaint.enabled false
{{- end }}
{{- if $values.fuse.startupTaint.enabled }}
{{- if semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version }}
fuse.startupTaint gives its pods a token that may patch nodes, and Kubernetes {{ .Capabilities.KubeVersion.Major }}.{{ .Capabilities.KubeVersion.Minor }} cannot keep each to its own node, as 1.30 and later do: write fuse.startupTaint.enabled false
{{- end }}
{{- range $index, $dataset := $values.datasets }}
{{- range $key := list "nodeSelector" "affinity" "tolerations" }}
{{- if hasKey (default dict $dataset.fuse) $key }}
datasets[{{ $index }}].fuse.{{ $key }} places a dataset on some nodes, but fuse.startupTaint waits for all datasets on each: remove one of them
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if $values.csi.enabled }}
{{- if not $values.fuse.enabled }}
csi.enabled: volumes show what FUSE mounts, and fuse.enabled is false: write csi.enabled false
{{- end }}
{{- if eq $values.image.kind "official" }}
csi.enabled: the official image has no plugin for node and kubelet: write image.kind project, or csi.enabled false
{{- end }}
{{- if gt (len (include "alluxio.csiDriver" .)) 63 }}
csi.enabled: the driver's name {{ include "alluxio.csiDriver" . }} is longer than 63 characters: shorten the namespace's or the release's name
{{- end }}
{{- else if $values.csi.claims }}
csi.claims lead to volumes of the CSI driver, and csi.enabled is false: write csi.enabled true, or datasets[].claims
{{- end }}
{{- if and $values.networkPolicy.enabled $values.monitoring.podMonitor.enabled (not $values.networkPolicy.metrics) }}
monitoring.podMonitor scrapes pods, but networkPolicy.metrics lets nobody in: name Prometheus there
{{- end }}
{{- end }}

{{- /* Either the playbooks put copies and the keeper's programs on the nodes, or the chart alone stages. */ -}}
{{- define "alluxio.stageRefusals" -}}
{{- $hidden := list }}
{{- range $index, $dataset := .Values.datasets }}
{{- if $dataset.mountParent }}{{ $hidden = append $hidden (printf "datasets[%d].mountParent" $index) }}{{ end }}
{{- with $dataset.stage }}
{{- $at := printf "datasets[%d].stage" $index }}
{{- if eq $.Values.profile "planned" }}
{{ $at }}: the plan says what is staged, and profile is planned: remove it
{{- end }}
{{- if or $dataset.writable (ne (default "immutable" $dataset.freshness) "immutable") }}
{{ $at }}: a copy does not change with its source, and this dataset may: remove it, or write freshness immutable
{{- end }}
{{- if not $.Values.fuse.enabled }}
{{ $at }}: copies are made from FUSE mounts, and fuse.enabled is false: write fuse.enabled true
{{- end }}
{{- if eq $.Values.image.kind "official" }}
{{ $at }}: the official image does not have the programs: write image.kind project
{{- end }}
{{- if and (eq .medium "memory") .hostPath }}
{{ $at }}.hostPath: what is staged in memory is in no folder of a disk: remove it, or write medium ssd or hdd
{{- end }}
{{- if and (ne .medium "memory") (not .hostPath) }}
{{ $at }}.hostPath is missing: write a folder of the nodes, as {path: /mnt/nvme0/stage, mountPoint: /mnt/nvme0}
{{- end }}
{{- with .hostPath }}
{{- if and .mountPoint (not (hasPrefix (printf "%s/" (trimSuffix "/" .mountPoint)) (printf "%s/" .path))) }}
{{ $at }}: hostPath.path {{ .path }} is not below hostPath.mountPoint {{ .mountPoint }}: the copy must lie on the device that is mounted there
{{- end }}
{{- $path := .path }}
{{- range $own := list (include "alluxio.stageFolder" $) (include "alluxio.mountRoot" $) }}
{{- if hasPrefix (printf "%s/" $own) (printf "%s/" $path) }}
{{ $at }}: hostPath.path {{ $path }} is in {{ $own }}, which the release has for other things: write another folder
{{- end }}
{{- end }}
{{- end }}
{{- range $key := list "nodeSelector" "affinity" "tolerations" }}
{{- if hasKey (default dict $dataset.fuse) $key }}
datasets[{{ $index }}].fuse.{{ $key }} places FUSE of a dataset that is staged elsewhere than its copies: write fuse.{{ $key }}
{{- end }}
{{- range $.Values.pools }}
{{- if hasKey (default dict (get (default dict .datasets) $dataset.name)) $key }}
pools ({{ .name }}): datasets.{{ $dataset.name }}.{{ $key }} places FUSE of a dataset that is staged elsewhere than its copies: write fuse.{{ $key }} of the pool
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (or .Values.stage.enabled $hidden) (ne .Values.profile "planned") }}
{{ prepend $hidden "stage.enabled" | join ", " }}: this is for the playbooks: write datasets[].stage in its place
{{- else if and $hidden (not .Values.stage.enabled) }}
{{ join ", " $hidden }}: nobody would show the dataset where it is read, as stage.enabled is false: remove it
{{- else if and .Values.stage.enabled (not $hidden) }}
stage.enabled: no dataset has a mountParent, so there is nothing to keep: remove it
{{- else if and .Values.stage.enabled (not .Values.fuse.enabled) }}
stage.enabled: copies are made from FUSE mounts, and fuse.enabled is false: write fuse.enabled true
{{- end }}
{{- end }}

{{- define "alluxio.datasetNames" -}}
{{- $names := list -}}
{{- range .Values.datasets -}}{{- $names = append $names .name -}}{{- end -}}
{{ toYaml $names }}
{{- end }}

{{- /* Those of services on nodes, which each pool has of its own. */ -}}
{{- define "alluxio.nodeRefusals" -}}
{{- include "alluxio.memoryRefusals" . }}
{{- include "alluxio.tierRefusals" . }}
{{- include "alluxio.propertyRefusals" . }}
{{- include "alluxio.datasetRefusals" . }}
{{- include "alluxio.webIdentityRefusals" . }}
{{- include "alluxio.labelRefusals" . }}
{{- include "alluxio.envRefusals" . }}
{{- end }}

{{- define "alluxio.memoryRefusals" -}}
{{- $values := .Values -}}
{{- $tiers := dict -}}
{{- $disk := false -}}
{{- range $index, $tier := $values.worker.tiers -}}
{{- if eq $tier.medium "memory" -}}
{{- $_ := set $tiers (printf "tiers[%d].quota" $index) $tier.quota -}}
{{- else -}}
{{- $_ := set $tiers "pageCache" $values.worker.pageCache -}}
{{- end -}}
{{- end -}}
{{- include "alluxio.javaRefusals" (dict "root" . "path" "master" "jvm" $values.master.jvm "limit" $values.master.resources.limits.memory) }}
{{- include "alluxio.javaRefusals" (dict "root" . "path" "jobMaster" "jvm" $values.jobMaster.jvm "limit" $values.jobMaster.resources.limits.memory) }}
{{- include "alluxio.javaRefusals" (dict "root" . "path" "worker" "jvm" $values.worker.jvm "limit" $values.worker.resources.limits.memory "also" $tiers) }}
{{- include "alluxio.javaRefusals" (dict "root" . "path" "jobWorker" "jvm" $values.jobWorker.jvm "limit" $values.jobWorker.resources.limits.memory) }}
{{- if $values.fuse.enabled }}
{{- include "alluxio.fuseMemoryRefusals" (dict "root" . "path" "fuse" "fuse" $values.fuse) }}
{{- range $index, $dataset := $values.datasets }}
{{- if $dataset.fuse }}
{{- $fuse := include "alluxio.datasetFuse" (dict "root" $ "dataset" $dataset) | fromYaml }}
{{- include "alluxio.fuseMemoryRefusals" (dict "root" $ "path" (printf "datasets[%d].fuse" $index) "fuse" $fuse) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.fuseMemoryRefusals" -}}
{{- $also := dict "pageCache" .fuse.pageCache -}}
{{- if and .fuse.clientCache.enabled (eq .fuse.clientCache.medium "memory") -}}
{{- $counted := ternary "volumeSize" "size" (not (empty .fuse.clientCache.volumeSize)) -}}
{{- $_ := set $also (printf "clientCache.%s" $counted) (get .fuse.clientCache $counted) -}}
{{- end -}}
{{- include "alluxio.javaRefusals" (dict "root" .root "path" .path "jvm" .fuse.jvm "limit" .fuse.resources.limits.memory "also" $also) }}
{{- range .fuse.mountOptions }}
{{- if and (eq (int $.fuse.libfuse) 3) (regexMatch "^(big_writes|nonempty|direct_io|sync_read|max_read=)" .) }}
{{ $.path }}.mountOptions holds {{ . }}, which libfuse 3 does not know: remove it, or write {{ $.path }}.libfuse 2
{{- end }}
{{- if and (eq (int $.fuse.libfuse) 2) (hasPrefix "max_idle_threads" .) }}
{{ $.path }}.mountOptions holds {{ . }}, which libfuse 2 does not know: remove it, or write {{ $.path }}.libfuse 3
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.tierRefusals" -}}
{{- $watermarks := (include "alluxio.planned" . | fromYaml).watermarks }}
{{- $paths := dict }}
{{- $marks := dict }}
{{- range $index, $tier := .Values.worker.tiers }}
{{- $at := printf "worker.tiers[%d]" $index }}
{{- $high := default $watermarks.high $tier.high }}
{{- $low := default $watermarks.low $tier.low }}
{{- if ge (float64 $low) (float64 $high) }}
{{ $at }}: low {{ $low }} is not below high {{ $high }}: eviction goes from high down to low
{{- end }}
{{- $mark := printf "high %v, low %v" $high $low }}
{{- if ne (default $mark (get $marks $tier.medium)) $mark }}
{{ $at }}: tiers of medium {{ $tier.medium }} have other watermarks ({{ get $marks $tier.medium }}): Alluxio keeps one pair per medium, write the same
{{- end }}
{{- $_ := set $marks $tier.medium $mark }}
{{- with $tier.hostPath }}
{{- if hasKey $paths .path }}
{{ $at }}: hostPath {{ .path }} is {{ get $paths .path }}'s, too: give each tier its own folder
{{- end }}
{{- $_ := set $paths .path $at }}
{{- if and .mountPoint (not (hasPrefix (printf "%s/" (trimSuffix "/" .mountPoint)) (printf "%s/" .path))) }}
{{ $at }}: hostPath.path {{ .path }} is not below hostPath.mountPoint {{ .mountPoint }}: the tier must lie on the device that is mounted there
{{- end }}
{{- end }}
{{- if and (hasKey $tier "hostPath") (eq $.Values.worker.kind "StatefulSet") }}
{{ $at }}: several workers of a StatefulSet may be on one node and would share the folder of a hostPath: write claim {}, or worker.kind DaemonSet
{{- end }}
{{- if and (or (hasKey $tier "hostPath") (and (hasKey $tier "claim") (eq $.Values.worker.kind "StatefulSet"))) (eq $.Values.image.kind "official") }}
{{ $at }}: it outlives its pod, and nothing in the official image discards blocks of another journal, which are other files' bytes: write emptyDir {}, or image.kind project
{{- end }}
{{- if and (hasKey $tier "claim") (eq $tier.medium "memory") }}
{{ $at }}: a claim is not memory: write medium ssd or hdd, or emptyDir {}
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.propertyRefusals" -}}
{{- $places := dict "properties" .Values.properties "master.properties" .Values.master.properties "jobMaster.properties" .Values.jobMaster.properties
  "worker.properties" .Values.worker.properties "jobWorker.properties" .Values.jobWorker.properties "fuse.properties" .Values.fuse.properties }}
{{- range $index, $dataset := .Values.datasets }}
{{- $_ := set $places (printf "datasets[%d].fuse.properties" $index) (dig "fuse" "properties" dict $dataset) }}
{{- $_ = set $places (printf "datasets[%d].options" $index) (default dict $dataset.options) }}
{{- end }}
{{- $reserved := .Files.Get "files/reserved.yaml" | fromYamlArray }}
{{- range $place, $properties := $places }}
{{- range $key, $amount := $properties }}
{{- range $reserved }}
{{- if regexMatch .match $key }}
{{ $place }} holds {{ $key }}: write {{ .write }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.datasetRefusals" -}}
{{- $names := dict }}
{{- range $index, $dataset := .Values.datasets }}
{{- $at := printf "datasets[%d] (%s)" $index .name }}
{{- if hasKey $names .name }}
{{ $at }}: the name is taken by datasets[{{ get $names .name }}]: each dataset has a name of its own
{{- end }}
{{- $_ := set $names .name $index }}
{{- if and .source .volume }}
{{ $at }}: source and volume are two places: write one of them
{{- else if not (or .source .volume) }}
{{ $at }}: it has no data: write source (s3://bucket/prefix) or volume
{{- end }}
{{- if and .credentials (not .source) }}
{{ $at }}: credentials are for object stores, and this is a volume: remove them
{{- end }}
{{- if and .s3 (not (hasPrefix "s3://" (default "" .source))) }}
{{ $at }}: s3 holds for s3:// sources only: remove it
{{- end }}
{{- if and .credentials (dig "anonymous" false (default dict .s3)) }}
{{ $at }}: it has credentials, and s3.anonymous says to read without: remove one of them
{{- end }}
{{- if and .writable (dig "anonymous" false (default dict .s3)) }}
{{ $at }}: it is writable, and s3.anonymous says to read without keys: remove one of them
{{- end }}
{{- if and .oss (not (hasPrefix "oss://" (default "" .source))) }}
{{ $at }}: oss holds for oss:// sources only: remove it
{{- end }}
{{- if hasPrefix "hdfs://" (default "" .source) }}
{{- if .credentials }}
{{ $at }}: HDFS is read without keys: remove credentials
{{- end }}
{{- if .writable }}
{{ $at }}: hdfs:// is read only here: remove writable
{{- end }}
{{- if not (regexMatch "^hdfs://[^/:,@[:space:]]+:[0-9]{1,5}/[^/].*$" .source) }}
{{ $at }}: source is not one namenode, its port and a folder: write hdfs://<namenode>:<port>/folder; several namenodes (HA) are not read here
{{- end }}
{{- else if hasPrefix "oss://" (default "" .source) }}
{{- if eq $.Values.image.kind "official" }}
{{ $at }}: the official image signs requests to OSS by version 1, which OSS does not take for new buckets: write image.kind project
{{- end }}
{{- if not (or .oss (dig "fs.oss.region" "" (default dict .options))) }}
{{ $at }}: nothing says where the bucket is: write oss: {endpoint: https://oss-<region>.aliyuncs.com, region: <region>}
{{- end }}
{{- if not .credentials }}
{{ $at }}: oss:// is read with keys only: write credentials
{{- end }}
{{- if .writable }}
{{ $at }}: oss:// is read only here: remove writable
{{- end }}
{{- else if dig "securityToken" "" (default dict .credentials) }}
{{ $at }}: credentials.securityToken holds for oss:// sources only: remove it
{{- end }}
{{- if and .credentials (eq $.Values.image.kind "official") }}
{{ $at }}: the official image takes keys of a dataset on the command line only, where every process sees them: write awsProfile, or image.kind project
{{- end }}
{{- if and .writable .claims }}
{{ $at }}: claims are read-only, and the dataset is writable: remove claims, and mount the folder in the pods that write
{{- end }}
{{- if and .claims (not $.Values.fuse.enabled) }}
{{ $at }}: claims lead to the mount on the node, and fuse.enabled is false: remove claims, or write fuse.enabled true
{{- end }}
{{- $fuse := include "alluxio.datasetFuse" (dict "root" $ "dataset" .) | fromYaml }}
{{- if and .writable (has "ro" $fuse.mountOptions) }}
{{ $at }}: writable, but mountOptions holds ro: remove one of them
{{- end }}
{{- if and (hasPrefix "within" (default "" .freshness)) (has "kernel_cache" $fuse.mountOptions) }}
{{ $at }}: with kernel_cache the kernel never looks again, which breaks freshness "{{ .freshness }}": write auto_cache
{{- end }}
{{- if hasPrefix "within" (default "" .freshness) }}
{{- $within := include "alluxio.datasetWithin" (dict "root" $ "dataset" .) | int64 }}
{{- $parts := (include "alluxio.planned" $ | fromYaml).freshness.parts }}
{{- if lt $within (int64 $parts) }}
{{ $at }}: freshness "{{ .freshness }}": caches share it, a second each: write at least "within: {{ $parts }}s"
{{- end }}
{{- range $fuse.mountOptions }}
{{- if and (regexMatch "^(attr|entry)_timeout=" .) (gt (splitList "=" . | last | float64) (float64 $within)) }}
{{ $at }}: {{ . }} lets the kernel believe what it knows for longer than freshness "{{ $dataset.freshness }}" says: write at most {{ div $within $parts }}, as two more caches add to it
{{- end }}
{{- end }}
{{- end }}
{{- if and (eq $.Values.image.kind "official") $fuse.clientCache.enabled $fuse.clientCache.hostPath }}
{{ $at }}: clientCache.hostPath outlives its pod, and nothing in the official image discards pages of another journal, which are other files' bytes: remove hostPath, or write image.kind project
{{- end }}
{{- with $fuse.clientCache.volumeSize }}
{{- if and (not $fuse.clientCache.hostPath) (lt (include "alluxio.bytes" . | int64) (include "alluxio.bytes" $fuse.clientCache.size | int64)) }}
{{ $at }}: clientCache.volumeSize {{ . }} does not hold clientCache.size {{ $fuse.clientCache.size }}: write at least that, or leave volumeSize out
{{- end }}
{{- end }}
{{- with $fuse.clientCache.hostPath }}
{{- if and .mountPoint (not .path) }}
{{ $at }}: clientCache.hostPath.mountPoint is {{ .mountPoint }} without a path: write hostPath.path, a folder below it
{{- else if and .mountPoint (not (hasPrefix (printf "%s/" (trimSuffix "/" .mountPoint)) (printf "%s/" .path))) }}
{{ $at }}: clientCache.hostPath.path {{ .path }} is not below hostPath.mountPoint {{ .mountPoint }}: the cache must lie on the device that is mounted there
{{- end }}
{{- end }}
{{- if gt (add (len (include "alluxio.fullname" $)) (len .name)) 56 }}
{{ $at }}: the names of its objects would be longer than 63 characters: shorten the dataset's or the release's name
{{- end }}
{{- end }}
{{- end }}

{{- /* Selectors look for these, and an object has each label once. */ -}}
{{- define "alluxio.labelRefusals" -}}
{{- $places := dict "commonLabels" .Values.commonLabels "master.podLabels" .Values.master.podLabels "worker.podLabels" .Values.worker.podLabels
  "fuse.podLabels" .Values.fuse.podLabels }}
{{- range $index, $dataset := .Values.datasets }}
{{- $_ := set $places (printf "datasets[%d].fuse.podLabels" $index) (dig "fuse" "podLabels" dict $dataset) }}
{{- end }}
{{- range $place, $labels := $places }}
{{- range $key, $_ := $labels }}
{{- if regexMatch "^app[.]kubernetes[.]io/(name|instance|component)$" $key }}
{{ $place }} holds {{ $key }}, by which the chart selects its own pods: remove it
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.webIdentityRefusals" -}}
{{- if .Values.webIdentity.roleArn }}
{{- if not .Values.webIdentity.region }}
webIdentity.region is empty, and nothing says whose STS lends keys of the role: write it, for example us-east-1
{{- end }}
{{- if .Values.awsProfile.secret }}
awsProfile.secret would not be read: webIdentity comes first in the credential chain: remove one of them
{{- end }}
{{- if hasKey .Values.serviceAccount.annotations "eks.amazonaws.com/role-arn" }}
serviceAccount.annotations has EKS give a role to every pod, FUSE's too, and webIdentity gives one to masters and workers: remove one of them
{{- end }}
{{- end }}
{{- end }}

{{- define "alluxio.envRefusals" -}}
{{- $places := dict "fuse" .Values.fuse.env }}
{{- range $index, $dataset := .Values.datasets }}
{{- $_ := set $places (printf "datasets[%d].fuse" $index) (dig "fuse" "env" dict $dataset) }}
{{- end }}
{{- range $place, $env := $places }}
{{- range $name, $_ := $env }}
{{- if regexMatch "^(ALLUXIO_([A-Z]+_)*)?JAVA_(TOOL_)?OPT(ION)?S$" $name }}
{{ $place }}.env holds {{ $name }}: write {{ $place }}.jvm and {{ $place }}.properties, which are checked
{{- else if regexMatch "^(POD_NAME|POD_IP|NODE_NAME)$" $name }}
{{ $place }}.env holds {{ $name }}, which the chart sets: remove it
{{- else if eq "ALLUXIO_FUSE_GRACE" $name }}
{{ $place }}.env holds {{ $name }}: write fuse.terminationGracePeriodSeconds, of which the chart makes it
{{- else if regexMatch "(?i)(access_?key|secret|password|credential|token)" $name }}
{{ $place }}.env holds {{ $name }}, which every process of the pod and who reads the values would see: write datasets[].credentials or awsProfile
{{- end }}
{{- end }}
{{- end }}
{{- end }}
