/**
 * What a user declares: where data arrives, how it is packed, what trains, on which compute, by when.
 * One schema validates `pipelines/<name>.yaml`, the API's PUT body, and generates the editors' JSON Schema.
 */

import { isProbeName, RESERVED_NAMES } from '@tidewheel/contract/bucket-keys.ts';
import { besideOthers, check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import {
  helpersSchema,
  instanceType,
  mayAddHelpersSchema,
  needsSchema,
  regionsSchema,
  reservedSchema,
  typeProblems,
  vpcSchema,
} from './compute-parts.ts';
import { datasetSchema, deletionProblems } from './dataset.ts';
import { evaluationProblems, evaluationSchema } from './evaluation.ts';
import { FRAMEWORKS, type Framework, frameworkHas } from './frameworks.ts';
import {
  choosesImage,
  launcherField,
  launcherProblems,
  launcherSections,
  typeProblem,
} from './launcher-names.ts';
import { modelProblems, promoteSchema } from './models.ts';
import { notifySchema } from './notify.ts';
import { packingSchema } from './packing.ts';
import { heldForClasses } from './packing-parts.ts';
import { registriesSchema, registryProblems } from './registries.ts';
import { retentionSchema } from './retention.ts';
import { SCHEDULE_PATTERN, scheduleProblem } from './schedule.ts';
import { pipeProblems } from './shard-formats.ts';
import { splitProblems } from './splits.ts';
import { isStrategy, type StrategyTraits, strategiesWith, strategyTraits } from './strategies.ts';
import { ownerSchema, tagsSchema } from './tags.ts';
import { trainingSchema } from './training.ts';
import { filesProblems } from './unpacked.ts';

/** Lower case, 1-32 characters: the name becomes part of keys, execution names and SageMaker job names (63). */
export const pipelineName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/, 'use 1 to 32 of a-z, 0-9 and inner hyphens')
  .refine(
    (name) => !RESERVED_NAMES.includes(name),
    'the bucket has a folder of the service by this name, choose another',
  )
  .refine((name) => !isProbeName(name), 'names that end in -probe are those of probes, choose another');

/** @returns why the name is refused */
export const pipelineNameProblem = (name: string): string | undefined =>
  pipelineName.safeParse(name).error?.issues[0]?.message;

const seconds = (minimum: number, maximum: number) => z.number().int().min(minimum).max(maximum);

/** When a batch of arrivals is complete. `ingest/settle.ts` decides by it. */
const settleSchema = z.strictObject({
  quietSeconds: seconds(1, 86_400)
    .default(60)
    .describe('A batch is complete when nothing changed under incoming/ for this long.'),
  maximumWaitSeconds: seconds(1, 7 * 86_400)
    .default(3_600)
    .describe('A batch is closed after this long even if objects keep arriving.'),
  marker: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('An object with this name under incoming/ closes the batch at once, e.g. _SUCCESS.'),
});

const computeFields = z.strictObject({
  instanceTypes: z
    .array(instanceType)
    .min(1)
    .max(30)
    .optional()
    .describe(
      'Interchangeable types; three or more score best. With needs: only these of those that meet them.',
    ),
  nodes: z.number().int().min(1).max(64).default(1),
  needs: needsSchema
    .optional()
    .describe('What the training needs, instead of types and nodes: every topology that has it is weighed.'),
  regions: regionsSchema
    .optional()
    .describe("Where it may train. Default: only in the data bucket's own region."),
  helpers: helpersSchema
    .optional()
    .describe('Groups of CPU nodes beside the nodes that train, for strategies that preprocess there.'),
  mayAddHelpers: mayAddHelpersSchema
    .optional()
    .describe(
      'Such a group may be added when an attempt has measured that its hosts, not its accelerators, set the pace (strategy ray).',
    ),
  spotWithHelpers: z
    .boolean()
    .optional()
    .describe('Try managed Spot with helper groups. AWS does not say whether it takes both together.'),
  purchaseOption: z
    .enum(['spot', 'on-demand', 'spot-then-on-demand'])
    .default('spot-then-on-demand')
    .describe('spot-then-on-demand changes to On-Demand when the deadline needs it.'),
  reserved: reservedSchema
    .optional()
    .describe(
      'Capacity that the account has paid for, used before any other: Capacity Reservations and Capacity Blocks of EC2, and training plans of SageMaker.',
    ),
  launcher: launcherField,
  ...launcherSections,
  volumeGigabytes: z.number().int().min(1).max(16_384).default(30),
  vpc: vpcSchema
    .optional()
    .describe('With a VPC a zone can be chosen: each attempt gets the one subnet of its zone.'),
});

type Compute = z.infer<typeof computeFields>;

export const computeSchema = computeFields.superRefine((compute, context) => {
  const problems = [...shapeProblems(compute), ...launcherProblems(compute)];
  for (const [path, message] of problems) context.addIssue({ code: 'custom', path: [path], message });
  // A list that is none has been reported.
  const types = Array.isArray(compute.instanceTypes) ? compute.instanceTypes : [];
  for (const { index, type, message } of typeProblems(types, (type) => typeProblem(compute, type)))
    context.addIssue({ code: 'custom', path: ['instanceTypes', index], input: type, message });
}, besideOthers);

type FieldProblem = readonly [field: keyof Compute, message: string];

function shapeProblems({ instanceTypes, needs, nodes, helpers, mayAddHelpers }: Compute): FieldProblem[] {
  const problems: FieldProblem[] = [];
  if (helpers !== undefined && mayAddHelpers !== undefined)
    problems.push(['mayAddHelpers', 'stands alone: leave out compute.helpers, or leave this out']);
  if (needs === undefined) {
    if (instanceTypes === undefined)
      problems.push([
        'instanceTypes',
        'name the types that may be used, or say in compute.needs what the training needs',
      ]);
    return problems;
  }
  const message = `${nodes} and compute.needs exclude each other: leave it out, compute.needs.maximumNodes bounds it`;
  // The field's own rule has reported a value of another type.
  if (typeof nodes === 'number' && nodes !== 1) problems.push(['nodes', message]);
  return problems;
}

export const limitsSchema = z.strictObject({
  deadlineHours: z
    .number()
    .positive()
    .max(24 * 28)
    .optional()
    .describe('From the close of the batch to the model; 24 unless patience or a value of time is given.'),
  patienceHours: z
    .number()
    .min(0)
    .max(24 * 28)
    .optional()
    .describe(
      'Without a deadline: how long a run may stand still for cheap capacity, all its waits together.',
    ),
  valueOfTimeUsdPerHour: z
    .number()
    .positive()
    .max(100_000)
    .optional()
    .describe('What an hour sooner is worth. It is weighed against what capacity costs.'),
  maximumRunSeconds: seconds(60, 28 * 86_400)
    .default(86_400)
    .describe('Longest training time of one attempt.'),
  budgetUsd: z
    .number()
    .positive()
    .optional()
    .describe('No attempt starts that may pass this sum for the run.'),
  attempts: z.number().int().min(1).max(1_000).default(50),
  hangSeconds: seconds(1, 86_400)
    .optional()
    .describe(
      'Once no host’s script has computed or printed for so long, after the first step, all are ended, and the run resumes from its checkpoint. Default: it is only reported.',
    ),
  steps: z
    .number()
    .int()
    .min(1)
    .max(1e9)
    .optional()
    .describe(
      'Ends the training of an attempt as finished after so many steps: for trials. It leaves no model.',
    ),
});

const DEFAULT_DEADLINE_HOURS = 24;

/** Hours from the close of the batch; undefined where the pipeline gives patience or a value of time instead. */
export const deadlineHoursOf = ({
  deadlineHours,
  patienceHours,
  valueOfTimeUsdPerHour,
}: z.infer<typeof limitsSchema>): number | undefined =>
  deadlineHours ??
  (patienceHours === undefined && valueOfTimeUsdPerHour === undefined ? DEFAULT_DEADLINE_HOURS : undefined);

const pipelineFields = z.strictObject({
  name: pipelineName,
  owner: ownerSchema.optional(),
  tags: tagsSchema.optional(),
  settle: settleSchema.prefault({}),
  packing: packingSchema.prefault({}),
  dataset: datasetSchema.optional(),
  training: trainingSchema,
  evaluation: evaluationSchema.optional(),
  promote: promoteSchema,
  registries: registriesSchema,
  compute: computeSchema,
  limits: limitsSchema.prefault({}),
  retention: retentionSchema.prefault({}),
  doctor: z
    .strictObject({
      apply: z
        .enum(['none', 'safe'])
        .default('none')
        .describe(
          'safe: the next attempt takes remedies of the doctor that cannot change what is trained (docs/doctor.md).',
        ),
    })
    .optional(),
  schedule: z
    .string()
    .check(({ value, issues }) => {
      const message = scheduleProblem(value);
      if (message !== undefined) issues.push({ code: 'custom', input: value, message });
    })
    .meta({ pattern: SCHEDULE_PATTERN })
    .optional()
    .describe('Also start a run on this schedule (EventBridge Scheduler syntax, UTC).'),
  trainWithoutNewData: z
    .boolean()
    .default(false)
    .describe('Let a scheduled run train although nothing arrived.'),
  notify: notifySchema.optional().describe('Topics and webhooks that hear of its runs.'),
});

const hasFramework = (needed: StrategyTraits['framework'], framework: Framework): boolean =>
  needed === 'any' || needed === frameworkHas(framework);

/** What the strategy cannot use or lacks. The agent refuses these too, but on hosts that are then paid for. */
function strategyProblems({ training, compute }: Partial<z.infer<typeof pipelineFields>>) {
  // The schema reports parts that are missing, and a strategy that it does not know.
  if (!training || !compute || !isStrategy(training.strategy)) return [];
  const { strategy, framework, image } = training;
  const { dataPreparedBy, framework: needed } = strategyTraits[strategy];
  const problems: { readonly path: string[]; readonly message: string }[] = [];
  if (dataPreparedBy === 'helpers' && compute.helpers === undefined)
    problems.push({
      path: ['compute', 'helpers'],
      message: `is needed by training.strategy ${strategy}, whose data is prepared there: name the helpers, which SageMaker alone launches, or use another strategy`,
    });
  if (dataPreparedBy !== 'allHosts' && compute.mayAddHelpers !== undefined)
    problems.push({
      path: ['compute', 'mayAddHelpers'],
      message: `training.strategy ${strategy} cannot gain and lose helpers between attempts: name them in compute.helpers, or use ${strategiesWith((traits) => traits.dataPreparedBy === 'allHosts')}`,
    });
  // Another rule names a framework that is unknown.
  const isKnown = FRAMEWORKS.includes(framework);
  if (isKnown && !hasFramework(needed, framework) && image === undefined && choosesImage(compute))
    problems.push({
      path: ['training', 'framework'],
      message: `is ${framework}, and training.strategy ${strategy} needs ${needed}: write framework: ${needed} with its frameworkVersion, or name an image`,
    });
  return problems;
}

export const pipelineSchema = pipelineFields.superRefine((fields, context) => {
  for (const problem of [
    ...strategyProblems(fields),
    ...splitProblems(fields),
    ...filesProblems(fields),
    ...modelProblems(fields),
    ...evaluationProblems(fields),
    ...registryProblems(fields),
    ...pipeProblems(fields),
    ...deletionProblems(fields),
  ])
    context.addIssue({ code: 'custom', ...problem });
}, besideOthers);

export type Pipeline = z.infer<typeof pipelineSchema>;
export type PackingSettings = Pipeline['packing'];

/**
 * Reads what a run has pinned of a declaration, perhaps under an earlier release: fields that came since have their
 * defaults, and rules over values bind new declarations alone.
 */
export const pinned = <Schema extends z.ZodType>(schema: Schema) =>
  z.unknown().transform((stored, context): z.output<Schema> => {
    const read = check(schema, heldForClasses(stored), 'hidden', { skipChecks: true });
    if (read.ok) return read.value;
    for (const { path, message } of read.problems)
      context.addIssue({ code: 'custom', path: [path], message });
    return z.NEVER;
  });
