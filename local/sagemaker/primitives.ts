/** Short names for constraints, so that the tables read like AWS's model. */
import type { Constraint, Structure } from './constraints.ts';

export const text = (max: number, pattern?: RegExp, min = 0): Constraint => ({
  kind: 'string',
  min,
  max,
  ...(pattern ? { pattern } : {}),
});
export const oneOf = (...values: readonly string[]): Constraint => ({ kind: 'string', values });
export const integer = (min?: number, max?: number): Constraint => ({
  kind: 'integer',
  ...(min === undefined ? {} : { min }),
  ...(max === undefined ? {} : { max }),
});
export const boolean: Constraint = { kind: 'boolean' };
export const list = (of: Constraint, max: number, min = 0): Constraint => ({ kind: 'list', of, max, min });
export const map = (key: Constraint, value: Constraint, max: number): Constraint => ({
  kind: 'map',
  key,
  value,
  max,
});
export const structure = (members: Record<string, Constraint>, ...required: string[]): Structure => ({
  kind: 'structure',
  members,
  required,
});

export const inputMode = oneOf('Pipe', 'File', 'FastFile');
export const line = /.*/;
export const s3Uri = text(1024, /(https|s3):\/\/([^/]+)\/?(.*)/);
export const planArn = text(2048, /arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:training-plan\/.*/, 50);
export const jobName = text(63, /[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}/, 1);
const tagText = /[\p{L}\p{Z}\p{N}_.:/=+\-@]*/u;
export const tagKey = text(128, tagText, 1);
export const tags = list(structure({ Key: tagKey, Value: text(256, tagText) }, 'Key', 'Value'), 50);

export const parameters = (max: number): Constraint => map(text(256, line, 1), text(256, line), max);
/** Debugger's and Profiler's rules: taken and given back by Describe, never run here. */
export const ruleConfigurations = list(
  structure(
    {
      RuleConfigurationName: text(256, line, 1),
      LocalPath: text(4096, line),
      S3OutputPath: s3Uri,
      RuleEvaluatorImage: text(255, line),
      // A processing type: another list, and nothing here depends on it.
      InstanceType: { kind: 'string' },
      VolumeSizeInGB: integer(0),
      RuleParameters: parameters(100),
    },
    'RuleConfigurationName',
    'RuleEvaluatorImage',
  ),
  20,
);
export const profilerConfig = structure({
  S3OutputPath: s3Uri,
  ProfilingIntervalInMilliseconds: integer(),
  ProfilingParameters: parameters(20),
  DisableProfiler: boolean,
});
export const remoteDebugConfig = structure({ EnableRemoteDebug: boolean });
