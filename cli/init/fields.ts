/**
 * What becomes of every field of CreateTrainingJob, every argument of the SageMaker SDK and every field of a SkyPilot
 * task (`sagemaker.json`). A path that ends in `.` stands for all below it. An argument is a field, or has its own line.
 */
import { own } from '@tidewheel/kit/own-property.ts';
import { isTable } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import { asTable, type Line } from './job.ts';
import known from './sagemaker.json' with { type: 'json' };

const line = z
  .union([
    z.tuple([z.literal('cannot'), z.string()]).transform(([verdict, why]) => ({ verdict, ours: '', why })),
    z
      .tuple([z.enum(['same', 'better']), z.string(), z.string().default('')])
      .transform(([verdict, ours, why]) => ({ verdict, ours, why })),
  ])
  .transform((read): Line => read);
const argumentsSchema = z.record(z.string(), z.union([z.string(), line]));
export type Arguments = z.infer<typeof argumentsSchema>;

const tables = z
  .strictObject({
    fields: z.record(z.string(), z.union([line, z.record(z.string(), line)])),
    estimator: argumentsSchema,
    trainingInput: argumentsSchema,
    modelTrainer: argumentsSchema,
    sourceCode: argumentsSchema,
    skypilot: argumentsSchema,
    written: z.record(z.string(), z.string()),
  })
  .parse(known);

export const ARGUMENTS = tables;
export const TOP_FIELDS = new Set(Object.keys(tables.fields).map((at) => at.split('.')[0]));

const isLine = (entry: Line | Readonly<Record<string, Line>>): entry is Line =>
  typeof entry['verdict'] === 'string';

/** Finds the line for a field and its value. Returns undefined if the table lacks a field of AWS. */
export function fieldLine(path: string, value: unknown): Line | undefined {
  const parts = path.split('.');
  const above = parts.map((_, index) => own(tables.fields, `${parts.slice(0, index + 1).join('.')}.`));
  const entry = own(tables.fields, path) ?? above.find((each) => each !== undefined);
  if (entry === undefined || isLine(entry)) return entry;
  return own(entry, String(value)) ?? entry['otherwise'];
}

/** Where a declaration has the first of the fields below a path. */
export function placeOf(path: string): string {
  const below = Object.entries(tables.fields).find(([at]) => at.startsWith(`${path}.`))?.[1] ?? {};
  return (isLine(below) ? below : below['otherwise'])?.ours ?? 'what it has';
}

/** Tables of free names, which are one value. */
const WHOLE = ['Environment', 'HyperParameters'];

/** Fields with their values, by path; those of a list come one after the other. */
export function leavesOf(value: unknown, path = ''): readonly (readonly [path: string, value: unknown])[] {
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, path));
  const names = Object.keys(asTable(value));
  if (
    !isTable(value) ||
    names.length === 0 ||
    WHOLE.includes(path) ||
    names.some((name) => name.startsWith('$'))
  )
    return [[path, value]];
  return names.flatMap((name) => leavesOf(value[name], path === '' ? name : `${path}.${name}`));
}
