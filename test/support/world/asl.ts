/** The part of Amazon States Language that statemachines/run.asl.json uses, read from the file itself. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import * as z from 'zod';

const retrier = z.object({
  ErrorEquals: z.array(z.string()),
  IntervalSeconds: z.number().default(1),
  BackoffRate: z.number().default(2),
  MaxAttempts: z.number().default(3),
  MaxDelaySeconds: z.number().default(Number.POSITIVE_INFINITY),
});

const catcher = z.object({
  ErrorEquals: z.array(z.string()),
  ResultPath: z.string().default('$'),
  Next: z.string(),
});

const choice = z.strictObject({
  Variable: z.string(),
  StringEquals: z.string().optional(),
  BooleanEquals: z.boolean().optional(),
  Next: z.string(),
});

export interface Machine {
  readonly StartAt: string;
  readonly States: Readonly<Record<string, State>>;
}

const state = z.object({
  Type: z.enum(['Task', 'Choice', 'Wait', 'Pass', 'Map', 'Succeed', 'Fail']),
  Resource: z.string().optional(),
  Parameters: z.record(z.string(), z.unknown()).optional(),
  ResultPath: z.string().nullable().default('$'),
  Retry: z.array(retrier).default([]),
  Catch: z.array(catcher).default([]),
  Next: z.string().optional(),
  End: z.boolean().optional(),
  Choices: z.array(choice).optional(),
  Default: z.string().optional(),
  SecondsPath: z.string().optional(),
  TimestampPath: z.string().optional(),
  Seconds: z.number().optional(),
  TimeoutSecondsPath: z.string().optional(),
  ItemReader: z.object({ Parameters: z.record(z.string(), z.string()) }).optional(),
  ItemSelector: z.record(z.string(), z.unknown()).optional(),
  MaxConcurrency: z.number().optional(),
  MaxConcurrencyPath: z.string().optional(),
  ToleratedFailurePercentage: z.number().default(0),
  get ItemProcessor() {
    return z.object({ StartAt: z.string(), States: z.record(z.string(), state) }).optional();
  },
});
export type State = z.infer<typeof state>;
export type Retrier = z.infer<typeof retrier>;

const machineSchema = z.object({ StartAt: z.string(), States: z.record(z.string(), state) });

const machineIn = (...file: readonly string[]): Buffer =>
  readFileSync(path.join(import.meta.dirname, ...file));

const machineOf = (definition: Buffer): Machine => machineSchema.parse(JSON.parse(definition.toString()));

export const runMachine: Machine = machineOf(machineIn('../../../statemachines/run.asl.json'));

/** With which executions of that release began. */
export const machineOfRelease = (release: '0.1.0'): Machine =>
  machineOf(gunzipSync(machineIn('../releases', release, 'run.asl.json.gz')));

/** What an execution fails with when a path leads nowhere; no Catch takes it. */
export class RuntimeFault extends Error {
  override readonly name = 'States.Runtime';
}

export type Data = Readonly<Record<string, unknown>>;

export function read(data: unknown, path: string): unknown {
  if (path === '$') return data;
  let value = data;
  for (const part of path.slice(2).split('.')) {
    if (typeof value !== 'object' || value === null || !(part in value))
      throw new RuntimeFault(`the path ${path} leads nowhere`);
    value = Reflect.get(value, part);
  }
  return value;
}

export function write(data: Data, path: string | null, result: unknown): Data {
  if (path === null) return data;
  if (path === '$') return asData(result);
  const name = path.slice(2);
  if (name.includes('.')) throw new RuntimeFault(`the simulator writes one level deep, not ${path}`);
  return { ...data, [name]: result };
}

export function asData(value: unknown): Data {
  if (typeof value !== 'object' || value === null) throw new RuntimeFault('a state must pass on an object');
  return { ...value };
}

/** Parameters and selectors: `name.$` takes a path of the data or (with `$$`) of the context. */
export function fill(template: Data, data: Data, context: Data): Data {
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) => {
      if (name.endsWith('.$')) return [name.slice(0, -2), expression(String(value), data, context)];
      const nested = typeof value === 'object' && value !== null;
      return [name, nested ? fill(asData(value), data, context) : value];
    }),
  );
}

function expression(text: string, data: Data, context: Data): unknown {
  const format = /^States\.Format\('([^']*)',\s*(.*)\)$/.exec(text);
  if (format === null) return text.startsWith('$$.') ? read(context, text.slice(1)) : read(data, text);
  const values = (format[2] ?? '').split(',').map((each) => String(read(data, each.trim())));
  return (format[1] ?? '').replaceAll('{}', () => values.shift() ?? '');
}

export function choose(state: State, data: Data): string {
  for (const each of state.Choices ?? []) {
    if (read(data, each.Variable) === (each.StringEquals ?? each.BooleanEquals)) return each.Next;
  }
  return nextOf(state.Default);
}

export function nextOf(name: string | undefined): string {
  if (name === undefined) throw new RuntimeFault('a state leads nowhere');
  return name;
}

export const matches = (names: readonly string[], error: string): boolean =>
  names.includes(error) ||
  names.includes('States.ALL') ||
  (names.includes('States.TaskFailed') && error !== 'States.Timeout');

/** Pause before the retry of a number (0 for the first), without jitter. */
export const delaySeconds = (retrier: Retrier, number: number): number =>
  Math.min(retrier.MaxDelaySeconds, retrier.IntervalSeconds * retrier.BackoffRate ** number);
