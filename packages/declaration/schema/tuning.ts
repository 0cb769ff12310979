/**
 * How a declaration is written. Fields that a first declaration leaves alone stand under `tuning:`, below the name of
 * their section (docs/tuning.md). The code, and every record, has each field in its section, as people wrote it up to
 * 0.1.0.
 */
import type { Problem } from '@tidewheel/kit/errors.ts';
import { isTable, valueAt } from '@tidewheel/kit/tables.ts';
import { type Document, isScalar, isSeq, parseDocument } from 'yaml';
import * as z from 'zod';
import { HELD_FOR_ANY, splitRejected } from './packing-parts.ts';
import { type Pipeline, pinned, pipelineSchema } from './pipeline.ts';
import { spelledOut } from './unpacked.ts';

const TUNED = {
  settle: { maximumWaitSeconds: true },
  packing: {
    seed: true,
    shardsMultipleOf: true,
    leastShardsPerWorker: true,
    waitHours: true,
    mayReject: true,
    remainder: true,
  },
  'packing.prepare.image': { mostMegapixels: true, expectedKilobytes: true, background: true, columns: true },
  dataset: { compactAfter: true },
  training: { instrument: true, pinGpus: true, distribution: true },
  compute: { mayAddHelpers: true, spotWithHelpers: true },
  'compute.needs': {
    kinds: true,
    vcpus: true,
    memoryGigabytes: true,
    acceleratorsPerNode: true,
    resumeOnOtherTopology: true,
  },
  'compute.ec2': { privateSubnets: true },
  limits: { valueOfTimeUsdPerHour: true, attempts: true, hangSeconds: true },
  retention: { workDays: true, sourceDays: true },
} as const;

type Mask<Shape> = { readonly [Field in keyof Shape]?: true };

/**
 * What stays in a section, and what stands under `tuning`. Without the rules over several fields, which speak of the
 * whole declaration: `pipelineSchema` has them.
 */
function split<Shape extends z.ZodRawShape, const Tuned extends Mask<Shape>>(
  part: z.ZodObject<Shape>,
  tuned: Tuned & Record<Exclude<keyof Tuned, keyof Shape>, never>,
) {
  const fields = z.strictObject(part.shape);
  return [fields.omit(tuned), fields.pick(tuned)] as const;
}

const like = <Schema extends z.ZodType>(schema: Schema, { description = '' }: z.ZodType): Schema =>
  schema.describe(description);

function written({ shape }: typeof pipelineSchema) {
  const [settle, settleTuning] = split(shape.settle.unwrap(), TUNED.settle);
  const [packing, packingTuning] = split(shape.packing.unwrap(), TUNED.packing);
  const prepare = packing.shape.prepare.unwrap();
  const [image, imageTuning] = split(prepare.shape.image, TUNED['packing.prepare.image']);
  const [dataset, datasetTuning] = split(shape.dataset.unwrap(), TUNED.dataset);
  const [training, trainingTuning] = split(shape.training, TUNED.training);
  const [compute, computeTuning] = split(shape.compute, TUNED.compute);
  const [needs, needsTuning] = split(compute.shape.needs.unwrap(), TUNED['compute.needs']);
  const [ec2, ec2Tuning] = split(compute.shape.ec2.unwrap(), TUNED['compute.ec2']);
  const [limits, limitsTuning] = split(shape.limits.unwrap(), TUNED.limits);
  const [retention, retentionTuning] = split(shape.retention.unwrap(), TUNED.retention);

  const tuningSchema = z
    .strictObject({
      settle: settleTuning,
      packing: packingTuning.extend({
        prepare: z.strictObject({ image: imageTuning }).partial().optional(),
      }),
      dataset: datasetTuning,
      training: trainingTuning,
      compute: computeTuning.extend({ needs: needsTuning.optional(), ec2: ec2Tuning.optional() }),
      limits: limitsTuning,
      retention: retentionTuning,
    })
    .partial()
    .describe('Fields that a first declaration leaves alone (docs/tuning.md).');

  return z.strictObject({
    ...shape,
    settle: settle.prefault({}),
    packing: packing.extend({ prepare: like(z.strictObject({ image }).optional(), prepare) }).prefault({}),
    dataset: like(dataset.optional(), shape.dataset.unwrap()),
    training,
    compute: compute.extend({ needs: like(needs.optional(), compute.shape.needs), ec2: ec2.optional() }),
    limits: limits.omit({ steps: true }).prefault({}),
    retention: retention.prefault({}),
    tuning: tuningSchema.optional(),
  });
}

/** As people write it, field by field. */
export const writtenSchema = written(pipelineSchema);

type Path = readonly string[];

const ROOT = 'tuning';
const PATHS: readonly Path[] = Object.entries(TUNED).flatMap(([section, fields]) =>
  Object.keys(fields).map((field) => [...section.split('.'), field]),
);
/** How long a probe trains: its request says so, no declaration. */
const STEPS: Path = ['limits', 'steps'];

/**
 * A declaration, or a part of one, as the code reads it: one that is written as now, or as up to 0.1.0.
 * What `tuning` has beyond its fields stays there.
 */
export function placed(given: unknown): unknown {
  const table = PATHS.reduce((sofar, path) => moved(sofar, [ROOT, ...path], path), spelledOut(given));
  return isEmpty(valueAt(table, [ROOT])) ? without(table, [ROOT]) : table;
}

/** The reverse of `placed`. */
export const asWritten = (given: unknown): unknown =>
  PATHS.reduce((table, path) => moved(table, path, [ROOT, ...path]), without(given, STEPS));

const readWritten = pinned(writtenSchema);
/** For an answer. How long a probe trains is not in it. */
export const writtenPipeline = (pipeline: Pipeline): z.output<typeof writtenSchema> =>
  readWritten.parse(asWritten(pipeline));

/** Where people find the field of a problem. @param path as the code has it, such as `packing.prepare.image.columns[0]` */
export function writtenPath(path: string): string {
  const isBelow = (place: string): boolean =>
    path === place || path.startsWith(`${place}.`) || path.startsWith(`${place}[`);
  return PATHS.some((each) => isBelow(each.join('.'))) ? `${ROOT}.${path}` : path;
}

/** Fields that stand where they stood up to 0.1.0. */
export const misplacedProblems = (given: unknown): readonly Problem[] =>
  [...PATHS, STEPS].flatMap((path) => {
    const value = valueAt(given, path);
    if (value === undefined) return [];
    const place = path.join('.');
    const remedy =
      path === STEPS
        ? 'belongs to a probe: take it out, and give tidewheel probe its --steps (docs/probing.md)'
        : `belongs under ${ROOT}: write it as ${ROOT}.${place} (docs/tuning.md)`;
    return [{ path: place, message: `${shown(value)}${remedy}` }];
  });

/** Parts are not shown: they may be long, and by aliases endless. */
function shown(value: unknown): string {
  const isShort = Array.isArray(value) ? value.every((each) => typeof each !== 'object') : !isTable(value);
  return isShort ? `is ${JSON.stringify(value)}, and ` : '';
}

const PREPARE: Path = ['packing', 'prepare'];

/** Images are prepared where a declaration says so: to tune it must not switch it on. */
export const idleProblems = (given: unknown): readonly Problem[] =>
  valueAt(given, [ROOT, ...PREPARE]) === undefined || valueAt(given, PREPARE) !== undefined
    ? []
    : [
        {
          path: [ROOT, ...PREPARE].join('.'),
          message: 'says how images are prepared, and none are: declare packing.prepare, or take this out',
        },
      ];

/**
 * The text of a stored declaration as people write it now. Comments stay. What an alias repeats stays where it is:
 * reading moves it, and applying refuses it.
 */
export function upgradedText(text: string): string {
  const document = parseDocument(text, { merge: true });
  if (document.errors.length > 0) return text;
  const found = PATHS.filter((path) => document.hasIn(path));
  for (const path of found) {
    document.setIn([ROOT, ...path], document.getIn(path, true));
    document.deleteIn(path);
  }
  const isHeld = holdForClasses(document);
  return found.length === 0 && !isHeld ? text : document.toString({ lineWidth: 0 });
}

const REJECT: Path = ['packing', 'reject'];

/** Writes what `heldForClasses` reads. @returns whether there was anything to write */
function holdForClasses(document: Document): boolean {
  const reject: unknown = document.getIn(REJECT);
  if (!isSeq(reject)) return false;
  const { classes, texts } = splitRejected(reject.items.map((item) => (isScalar(item) ? item.value : item)));
  if (classes.length === 0) return false;
  for (const fault of classes) {
    const limit = ['packing', 'hold', fault];
    if (!document.hasIn(limit)) document.setIn(limit, HELD_FOR_ANY);
  }
  if (texts.length === 0) document.deleteIn(REJECT);
  else document.setIn(REJECT, document.createNode(texts, { flow: true }));
  return true;
}

/**
 * The text of a stored declaration with another pin. Comments stay; the space inside brackets may change.
 * @param generation that ended the version; undefined takes the pin out
 * @returns undefined where the text has no place for it, such as an alias for the whole of `dataset`
 */
export function withPin(text: string, generation: string | undefined): string | undefined {
  const document = parseDocument(upgradedText(text), { merge: true });
  try {
    if (generation !== undefined) document.setIn(['dataset', 'pin'], generation);
    else document.deleteIn(['dataset', 'pin']);
  } catch {
    return undefined;
  }
  return document.toString({ lineWidth: 0 });
}

/** No deeper than `tuning` goes: an alias may name what holds it. */
const isEmpty = (value: unknown, depth = 4): boolean =>
  depth > 0 && isTable(value) && Object.values(value).every((part) => isEmpty(part, depth - 1));

/** Unchanged where there is nothing to move, or no room for it. */
function moved(table: unknown, from: Path, to: Path): unknown {
  const value = valueAt(table, from);
  if (value === undefined || valueAt(table, to) !== undefined) return table;
  return withValue(without(table, from), to, value) ?? table;
}

/** The parts around it stay: an empty one may say something, as `prepare: { image: {} }` does. */
function without(table: unknown, [field = '', ...deeper]: Path): unknown {
  if (!isTable(table) || !Object.hasOwn(table, field)) return table;
  const { [field]: part, ...others } = table;
  const left = deeper.length === 0 ? undefined : without(part, deeper);
  return left === undefined ? others : { ...others, [field]: left };
}

/** undefined where something else than a part is on the way. */
function withValue(table: unknown, [field = '', ...deeper]: Path, value: unknown): object | undefined {
  if (table !== undefined && !isTable(table)) return undefined;
  const part = deeper.length === 0 ? value : withValue(table?.[field], deeper, value);
  return part === undefined ? undefined : { ...table, [field]: part };
}
