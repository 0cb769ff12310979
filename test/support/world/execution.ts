/** One execution of the run state machine: states, retries, catches, waits and task tokens. */
import {
  asData,
  choose,
  type Data,
  delaySeconds,
  fill,
  type Machine,
  matches,
  nextOf,
  RuntimeFault,
  read,
  type State,
  write,
} from './asl.ts';
import { forever, type Loop } from './loop.ts';
import type { Random } from './random.ts';

export type Answer =
  | { readonly kind: 'ok'; readonly value: unknown }
  | { readonly kind: 'error'; readonly name: string; readonly cause: string };

export interface Execution {
  readonly name: string;
  /** Set from outside too: an abort, a redeployment, the end of an emulator. */
  status: 'running' | 'ended';
  /** How it ended by itself, for a message. */
  end?: string;
}

export interface Machinery {
  readonly loop: Loop;
  readonly random: Random;
  readonly machine: Machine;
  /** Runs a function by the name in its substitution, e.g. Settle for `${SettleArn}`. */
  readonly invoke: (name: string, event: Data) => Promise<Answer>;
  /** Resolves when the token is answered. */
  readonly awaitToken: (execution: Execution, token: string) => Promise<unknown>;
  readonly readItems: (key: string) => unknown[];
  /** Every state entered, for the history limit. */
  readonly entered: (execution: Execution, state: string) => void;
  /** Every retry, by the error before it. */
  readonly retried: (error: string) => void;
}

export async function execute(world: Machinery, execution: Execution, input: Data): Promise<void> {
  try {
    execution.end = await walk(world, execution, { machine: world.machine, data: input });
  } catch (error: unknown) {
    if (!(error instanceof Error)) throw error;
    execution.end = `${error.name}: ${error.message}`;
  }
  execution.status = 'ended';
}

/** @returns the name of the state that it ended in */
async function walk(
  world: Machinery,
  execution: Execution,
  start: { readonly machine: Machine; readonly data: Data },
): Promise<string> {
  let name = start.machine.StartAt;
  let { data } = start;
  for (;;) {
    const state = start.machine.States[name];
    if (state === undefined) throw new RuntimeFault(`there is no state ${name}`);
    world.entered(execution, name);
    if (state.Type === 'Succeed' || state.Type === 'Fail') return name;
    const step = await take(world, execution, state, data);
    // A dead execution does not continue, whatever its last Lambda answers.
    if (execution.status === 'ended') return forever();
    ({ data } = step);
    if (state.End === true && step.next === undefined) return name;
    name = nextOf(step.next ?? state.Next);
  }
}

interface Step {
  readonly data: Data;
  readonly next?: string;
}

async function take(world: Machinery, execution: Execution, state: State, data: Data): Promise<Step> {
  const context = { Execution: { Name: execution.name } };
  switch (state.Type) {
    case 'Choice':
      return { data, next: choose(state, data) };
    case 'Wait':
      await (state.TimestampPath === undefined
        ? world.loop.sleep(state.Seconds ?? Number(read(data, state.SecondsPath ?? '')))
        : world.loop.sleepUntil(new Date(String(read(data, state.TimestampPath)))));
      return { data };
    case 'Pass': {
      const result = state.Parameters ? fill(state.Parameters, data, context) : data;
      return { data: write(data, state.ResultPath, result) };
    }
    case 'Task':
      return persist(world, state, data, () => task(world, execution, state, data));
    case 'Map':
      return persist(world, state, data, () => map(world, execution, state, data));
    case 'Succeed':
    case 'Fail':
      return { data };
  }
}

/** Retries and catches. */
async function persist(
  world: Machinery,
  state: State,
  data: Data,
  attempt: () => Promise<Answer>,
): Promise<Step> {
  const retries = state.Retry.map(() => 0);
  for (;;) {
    const answer = await attempt();
    if (answer.kind === 'ok') return { data: write(data, state.ResultPath, answer.value) };
    const index = state.Retry.findIndex(({ ErrorEquals }) => matches(ErrorEquals, answer.name));
    const retrier = state.Retry[index];
    const done = retries[index] ?? 0;
    if (retrier !== undefined && done < retrier.MaxAttempts) {
      retries[index] = done + 1;
      world.retried(answer.name);
      await world.loop.sleep(world.random.next() * delaySeconds(retrier, done));
      continue;
    }
    const caught = state.Catch.find(({ ErrorEquals }) => matches(ErrorEquals, answer.name));
    if (caught === undefined) throw Object.assign(new Error(answer.cause), { name: answer.name });
    const error = { Error: answer.name, Cause: answer.cause };
    return { data: write(data, caught.ResultPath, error), next: caught.Next };
  }
}

const functionOf = (substitution: unknown): string =>
  /^\$\{(\w+)Arn\}$/.exec(String(substitution))?.[1] ?? '';

let tokens = 0;

async function task(world: Machinery, execution: Execution, state: State, data: Data): Promise<Answer> {
  tokens += 1;
  const token = `${execution.name} token ${tokens}`;
  const context = { Execution: { Name: execution.name }, Task: { Token: token } };
  const event = state.Parameters ? fill(state.Parameters, data, context) : data;
  if (!state.Resource?.endsWith('.waitForTaskToken')) return world.invoke(functionOf(state.Resource), event);
  const answered = world.awaitToken(execution, token).then((value): Answer => ({ kind: 'ok', value }));
  const invoked = world
    .invoke(functionOf(event['FunctionName']), asData(event['Payload']))
    // The function's own answer ends nothing; only its failure does.
    .then((answer): Promise<Answer> | Answer => (answer.kind === 'ok' ? forever() : answer));
  const timeout = Number(read(data, state.TimeoutSecondsPath ?? '$.none'));
  const late = world.loop
    .sleep(timeout)
    .then((): Answer => ({ kind: 'error', name: 'States.Timeout', cause: 'no answer came' }));
  return Promise.race([answered, invoked, late]);
}

/** A distributed Map: each item runs in a child execution with a history of its own. */
async function map(world: Machinery, execution: Execution, state: State, data: Data): Promise<Answer> {
  const processor = state.ItemProcessor;
  const reader = state.ItemReader?.Parameters;
  if (processor === undefined || reader === undefined)
    throw new RuntimeFault('a Map needs items and a processor');
  const key = String(fill({ 'Key.$': reader['Key.$'] }, data, {})['Key']);
  let items: unknown[];
  try {
    items = world.readItems(key);
  } catch {
    return { kind: 'error', name: 'States.ItemReaderFailed', cause: `${key} cannot be read` };
  }
  const queue = items.entries();
  let failures = 0;
  let cause = '';
  const isExceeded = () => failures * 100 > state.ToleratedFailurePercentage * items.length;
  const runItems = async (): Promise<void> => {
    for (const [index, item] of queue) {
      const child: Execution = {
        name: `${execution.name}/${index}`,
        // A Map that fails stops its children, but not their functions.
        get status() {
          return isExceeded() ? 'ended' : execution.status;
        },
      };
      const selected = fill(state.ItemSelector ?? {}, data, { Map: { Item: { Value: item } } });
      try {
        await walk(world, child, { machine: processor, data: selected });
      } catch (error: unknown) {
        if (!(error instanceof Error)) throw error;
        failures += 1;
        cause = error.message;
        if (isExceeded()) throw error;
      }
    }
  };
  const atOnce = state.MaxConcurrencyPath
    ? Number(read(data, state.MaxConcurrencyPath))
    : (state.MaxConcurrency ?? items.length);
  try {
    await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, runItems));
    return { kind: 'ok', value: null };
  } catch (error: unknown) {
    if (!isExceeded()) throw error;
    return { kind: 'error', name: 'States.ExceedToleratedFailureThreshold', cause };
  }
}
