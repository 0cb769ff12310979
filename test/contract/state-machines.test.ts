import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as errors from '@tidewheel/kit/errors.ts';
import aslValidator from 'asl-validator';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

interface Rule {
  readonly ErrorEquals?: readonly string[];
}

interface Retrier extends Rule {
  readonly JitterStrategy?: string;
  readonly MaxAttempts?: number;
  readonly MaxDelaySeconds?: number;
}

interface State {
  readonly Type: string;
  readonly Comment?: string;
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
  readonly TimeoutSecondsPath?: string;
  readonly Parameters?: { readonly FunctionName?: string };
  readonly Retry?: readonly Retrier[];
  readonly Catch?: readonly Rule[];
  readonly ItemProcessor?: Machine;
  readonly Branches?: readonly Machine[];
}

interface Machine {
  readonly Comment?: string;
  readonly States: Readonly<Record<string, State>>;
}

const FOLDER = 'statemachines';
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.asl.json'));

const machineOf = (file: string): Machine => JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Machine;

/** Every state, those inside a Map or Parallel too. */
const statesOf = ({ States }: Machine): [string, State][] =>
  Object.entries(States).flatMap(([name, state]) => [
    [name, state] as [string, State],
    ...[state.ItemProcessor, ...(state.Branches ?? [])].flatMap((inner) =>
      inner === undefined ? [] : statesOf(inner),
    ),
  ]);

const tasksOf = (machine: Machine) => statesOf(machine).filter(([, { Type }]) => Type === 'Task');

/** AWS's own error names, which need no class of ours. */
const OF_AWS = /^(States\.|Lambda\.|Sandbox\.|Runtime\.)/;

/** The folder of a function that a placeholder such as ${PackShardsArn} stands for. */
const folderOf = (placeholder: string): string =>
  placeholder
    .replace(/^\$\{(.+)Arn\}$/, '$1')
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase();

const functions = parse(readFileSync('serverless/generated/functions.yml', 'utf8'), {
  logLevel: 'silent',
}) as Readonly<Record<string, { readonly timeout?: number }>>;

const retried = ({ Retry = [] }: State): string[] => Retry.flatMap(({ ErrorEquals = [] }) => ErrorEquals);

it('finds the state machines', () => {
  expect(files).toContain('run.asl.json');
});

describe.each(files)('%s', (file) => {
  const machine = machineOf(file);
  /** Names of the tasks that a rule does not hold for. */
  const offenders = (holds: (task: State) => boolean): string[] =>
    tasksOf(machine).flatMap(([name, task]) => (holds(task) ? [] : [name]));

  it('has tasks to be checked', () => {
    expect(tasksOf(machine).length).toBeGreaterThan(0);
  });

  it('passes asl-validator', () => {
    const text = readFileSync(join(FOLDER, file), 'utf8')
      .replaceAll(/\$\{\w+Arn\}/g, 'arn:aws:lambda:us-east-1:123456789012:function:x')
      .replaceAll('${Partition}', 'aws');
    expect(aslValidator(JSON.parse(text))).toMatchObject({ isValid: true, errors: [] });
  });

  it('names no partition', () => {
    // China and GovCloud have their own.
    expect(readFileSync(join(FOLDER, file), 'utf8')).not.toContain('arn:aws:');
  });

  it('says of every state what it is for', () => {
    expect(machine.Comment).toBeTruthy();
    expect(
      statesOf(machine)
        .filter(([, { Comment }]) => !Comment)
        .map(([name]) => name),
    ).toEqual([]);
  });

  it('bounds every task in time', () => {
    expect(
      offenders((task) => task.TimeoutSeconds !== undefined || task.TimeoutSecondsPath !== undefined),
    ).toEqual([]);
  });

  it('lets every task outlive its function', () => {
    const cutShort = offenders(({ Resource = '', TimeoutSeconds }) => {
      const timeout = functions[folderOf(Resource)]?.timeout;
      return timeout === undefined || TimeoutSeconds === undefined || TimeoutSeconds > timeout;
    });
    expect(cutShort).toEqual([]);
  });

  it('retries every task after a transient error', () => {
    const expected = [
      'TransientError',
      'Lambda.TooManyRequestsException',
      'Lambda.ServiceException',
      // A process that died.
      'Runtime.ExitError',
      'Lambda.Unknown',
      'Sandbox.Timedout',
    ];
    expect(offenders((task) => expected.every((name) => retried(task).includes(name)))).toEqual([]);
  });

  it('tries a throttled Lambda for hours, by itself', () => {
    // Step Functions counts the tries of each policy alone, and takes the first that names the error.
    const impatient = offenders(({ Retry: [first] = [] }) => {
      const { ErrorEquals, MaxAttempts = 3, MaxDelaySeconds, JitterStrategy } = first ?? {};
      const isThrottle = ErrorEquals?.join() === 'Lambda.TooManyRequestsException';
      return isThrottle && MaxAttempts >= 1_000 && MaxDelaySeconds === 60 && JitterStrategy === 'FULL';
    });
    expect(impatient).toEqual([]);
  });

  it('never tries again whatever happened', () => {
    expect(
      offenders(
        (task) => !retried(task).some((name) => name === 'States.ALL' || name === 'States.TaskFailed'),
      ),
    ).toEqual([]);
  });

  it('tries again with jitter and comes to an end', () => {
    const endless = offenders(({ Retry = [] }) =>
      Retry.every(({ JitterStrategy, MaxAttempts }) => JitterStrategy === 'FULL' && (MaxAttempts ?? 3) > 0),
    );
    expect(endless).toEqual([]);
  });

  it('names only errors that there are', () => {
    const ours = new Set(Object.keys(errors));
    const named = statesOf(machine).flatMap(([, { Retry = [], Catch = [] }]) =>
      [...Retry, ...Catch].flatMap(({ ErrorEquals = [] }) => ErrorEquals),
    );
    expect(named.filter((name) => !OF_AWS.test(name) && !ours.has(name))).toEqual([]);
  });

  it('calls the function after which each task is named', () => {
    for (const [name, task] of tasksOf(machine)) {
      const called = task.Parameters?.FunctionName ?? task.Resource ?? '';
      expect(called).toMatch(/^\$\{\w+Arn\}$/);
      expect(existsSync(join('functions/handlers', folderOf(called), 'handler.ts'))).toBe(true);
      // PlanShardsAgain is a second state of PlanShards.
      expect(name.startsWith(called.slice(2, -'Arn}'.length))).toBe(true);
    }
  });
});

describe('the classes that Retry and Catch name', () => {
  const made = [
    new errors.TransientError('x'),
    new errors.InvalidPipelineError('p', []),
    new errors.InvalidInputError('f', []),
    new errors.RunNotFoundError('r'),
    new errors.LaunchRefusedError('x'),
    new errors.UnreadableRecordError('x'),
    new errors.PlanOutdatedError('x'),
    new errors.PackingIncompleteError('x'),
    new errors.UnreadableArrivalsError('x'),
    new errors.ConfigurationError('x'),
  ];

  it.each(made)('carry their own name: $name', (error) => {
    expect(error.name).toBe(error.constructor.name);
  });

  it('are all looked at here', () => {
    const classes = Object.entries(errors).filter(([, { prototype }]) => prototype instanceof Error);
    expect(classes.map(([name]) => name).toSorted()).toEqual(made.map(({ name }) => name).toSorted());
  });
});
