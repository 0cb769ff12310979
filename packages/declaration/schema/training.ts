/** What trains: the `training` part of a pipeline. */

import { refusingProto } from '@tidewheel/kit/tables.ts';
import { besideOthers } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import {
  argumentsSchema,
  type CommandLine,
  commandLineProblems,
  commandSchema,
  environmentProblems,
  environmentSchema,
  scriptFile,
  sentLength,
  workingDirectorySchema,
} from '../script/arguments.ts';
import { checkpointSchema, objectiveSchema, progressSchema } from '../script/checkpoint.ts';
import { MODEL_CHANNEL } from '../script/placeholders.ts';
import { inputChannelsSchema } from './channels.ts';
import { FRAMEWORKS } from './frameworks.ts';
import { startFromSchema, whenSchema } from './models.ts';
import { prefixSchema } from './prefix.ts';
import { STRATEGIES, strategiesWith, strategyTraits } from './strategies.ts';
import { WRITTEN_NUMBER } from './written-numbers.ts';

const hyperparameter = z.union([
  z
    .string()
    .max(2_000)
    .refine((value) => !value.includes('\n'), 'a hyperparameter holds no newline'),
  z.number(),
  z.boolean(),
  z
    .strictObject(
      { number: z.string().max(60).regex(WRITTEN_NUMBER, 'write a number as JSON has it') },
      { error: ({ code }) => (code === 'invalid_type' ? 'give a number' : undefined) },
    )
    .describe('A number that keeps its form, such as 0.0; the service writes it so.'),
]);

export type Hyperparameter = z.infer<typeof hyperparameter>;

const hyperparameterName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/, 'start with a letter')
  .refine(
    (name) => !/^(sagemaker_|tidewheel_)/.test(name),
    'sagemaker_ and tidewheel_ begin names of the service, choose another',
  );

/** Where the source's requirements come from, if not from the public index. */
const packageIndexSchema = z
  .strictObject({
    url: z
      .string()
      .max(500)
      .regex(/^https:\/\/[^\s@]+$/, 'write an https address without user name or password')
      .optional()
      .describe('A simple index as pip reads it, such as https://packages.example.com/simple/.'),
    secret: z
      .string()
      .max(512)
      .regex(
        /^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,400}$/,
        'write the ARN of a secret in Secrets Manager',
      )
      .optional()
      .describe('Its credentials: {"username": …, "password": …}, or a token alone.'),
    codeArtifact: z
      .strictObject({
        domain: z.string().regex(/^[a-z][a-z0-9-]{0,48}[a-z0-9]$/, 'write the name of a domain'),
        owner: z.string().regex(/^\d{12}$/, 'write the id of the account that owns the domain, in quotes'),
        repository: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,99}$/, 'write the name of a repository'),
        region: z.string().regex(/^[a-z]{2}(-[a-z]+)+-\d$/, 'write a region such as us-east-1'),
      })
      .optional()
      .describe('A repository of AWS CodeArtifact. Each attempt gets a token by the role of its hosts.'),
  })
  .refine(({ url, codeArtifact }) => (url === undefined) !== (codeArtifact === undefined), {
    error: 'name either a url or a codeArtifact',
  })
  .refine(({ url, secret }) => url !== undefined || secret === undefined, {
    error: 'leave out the secret: CodeArtifact gives its own tokens',
    path: ['secret'],
  })
  .describe('A private package index for requirements.txt.');

type PackageIndex = z.infer<typeof packageIndexSchema>;

/** https://docs.aws.amazon.com/codeartifact/latest/ug/python-configure-pip.html */
export function indexUrl({ url, codeArtifact }: PackageIndex): string | undefined {
  if (codeArtifact === undefined) return url;
  const { domain, owner, repository, region } = codeArtifact;
  return `https://${domain}-${owner}.d.codeartifact.${region}.amazonaws.com/pypi/${repository}/simple/`;
}

/** What gives the index its credentials: a secret, or a repository of CodeArtifact. */
export function indexCredentialsArn({ secret, codeArtifact }: PackageIndex): string | undefined {
  if (codeArtifact === undefined) return secret;
  const { domain, owner, repository, region } = codeArtifact;
  return `arn:aws:codeartifact:${region}:${owner}:repository/${domain}/${repository}`;
}

const trainingFields = z.strictObject({
  strategy: z
    .enum(STRATEGIES)
    .describe('How processes cooperate in training; docs/strategies.md says which needs what.'),
  source: prefixSchema
    .default('source/')
    .describe(
      "Prefix of the training code: s3://bucket/prefix/ or a prefix under the pipeline's own folder.",
    ),
  entryPoint: scriptFile.optional().meta({ default: 'train.py' }),
  command: commandSchema.optional(),
  arguments: argumentsSchema.optional(),
  environment: environmentSchema.optional(),
  workingDirectory: workingDirectorySchema.optional(),
  checkpoint: checkpointSchema.optional(),
  progress: progressSchema.optional(),
  objective: objectiveSchema.optional(),
  instrument: z
    .boolean()
    .optional()
    .describe('false: no hooks measure where the time of a step goes, so the doctor knows no steps.')
    .meta({ default: true }),
  processesPerHost: z
    .number()
    .int()
    .min(1)
    .max(256)
    .optional()
    .describe('Processes of a host with ddp or mpi; by default one for each of its accelerators.'),
  pinGpus: z
    .boolean()
    .optional()
    .describe('mpi: each process sees one GPU alone, that of its local rank (CUDA_VISIBLE_DEVICES).'),
  framework: z.enum(FRAMEWORKS).default('pytorch'),
  frameworkVersion: z
    .string()
    .regex(/^\d+\.\d+(\.\d+|-\d+(-py\d+)?)?$/, 'write a version such as 2.13 or 3.0-5')
    .optional()
    .describe(
      "The version of AWS's image, as the SageMaker SDK has it; of huggingface, that of transformers.",
    ),
  image: z
    .string()
    .regex(/^\S{1,255}$/, 'name an image, of at most 255 characters and without spaces')
    .optional()
    .describe('A training image of your own.'),
  hyperparameters: refusingProto(
    z
      .record(hyperparameterName, hyperparameter)
      .refine((all) => Object.keys(all).length <= 80, 'at most 80 hyperparameters')
      .default({}),
  ),
  startFrom: startFromSchema,
  when: whenSchema,
  model: z
    .enum(['required', 'none'])
    .optional()
    .describe('required (the default): a script that ends well and leaves no model has failed.'),
  inputMode: z
    .enum(['auto', 'File', 'FastFile', 'Pipe'])
    .optional()
    .describe(
      'How shards reach the script: auto (the default) downloads what fits and is quick, else streams.',
    ),
  channels: inputChannelsSchema.optional(),
  packageIndex: packageIndexSchema.optional(),
  distribution: z
    .enum(['FullyReplicated', 'ShardedByS3Key'])
    .default('FullyReplicated')
    .describe('Whether every host gets all shards or its share of them.'),
});

type Training = z.infer<typeof trainingFields>;

export const trainingSchema = trainingFields.superRefine((training, context) => {
  for (const problem of scriptProblems(training)) context.addIssue({ code: 'custom', ...problem });
}, besideOthers);

const BOTH_PROGRAMS = 'and training.entryPoint exclude each other: a script is started by one of them';

/** Also reads what another rule has refused, so a field may be of any type. */
function scriptProblems(training: Training) {
  const { command, entryPoint, environment, channels, ...rest } = training;
  const line: CommandLine = { command, arguments: rest.arguments };
  const named = [...Object.keys(channels ?? {}), ...(rest.startFrom === undefined ? [] : [MODEL_CHANNEL])];
  return [
    ...(command !== undefined && entryPoint !== undefined
      ? [{ path: ['command'], message: BOTH_PROGRAMS }]
      : []),
    ...commandLineProblems(line, named),
    ...environmentProblems(environment, named),
    ...lengthProblems(line, environment),
    ...automaticProblems(training),
  ];
}

function automaticProblems({ checkpoint, strategy }: Training) {
  // Another rule names a strategy that is unknown.
  if (checkpoint !== 'automatic' || !STRATEGIES.includes(strategy)) return [];
  if (strategyTraits[strategy].savedAutomatically) return [];
  const suitable = strategiesWith(({ savedAutomatically }) => savedAutomatically);
  const message = `automatic saves PyTorch scripts: choose strategy ${suitable}, or let the script save under ${strategy}`;
  return [{ path: ['checkpoint'], message }];
}

/** The service passes them in hyperparameters of the job, of which SageMaker allows 100 with 2,500 characters each. */
const LONGEST_SCRIPT = 16_000;

function lengthProblems(line: CommandLine, environment: unknown) {
  const length = sentLength({ ...line, environment });
  if (length <= LONGEST_SCRIPT) return [];
  const message = `have, with training.command and training.environment, ${length} characters as JSON in ASCII, and the limit is ${LONGEST_SCRIPT}: put long values into a file of the source`;
  return [{ path: ['arguments'], message }];
}

/** The script that the agent starts; undefined where a command stands in its place. */
export const entryPointOf = ({
  command,
  entryPoint,
}: Pick<Training, 'command' | 'entryPoint'>): string | undefined =>
  command === undefined ? (entryPoint ?? 'train.py') : undefined;
