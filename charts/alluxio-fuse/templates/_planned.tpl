{{- /* What the planner says where values do not, as YAML. Takes the root. */ -}}
{{- define "alluxio.planned" -}}
{{ .Files.Get "files/planned.yaml" }}
{{- end }}
