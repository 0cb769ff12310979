/**
 * Words that make states of Amazon States Language. A state that leads to a name which its machine does not hold is a
 * compile error. Timeouts follow from the functions; retries are named by the class of the error.
 */

import { type FunctionName, functions } from '../functions/handlers/functions.ts';
import { pascalCase } from '../serverless/describe/cloudformation.ts';

/** CloudFormation replaces names in braces (DefinitionSubstitutions). */
const BUCKET = '${Bucket}';
/** A service that Step Functions calls by itself. */
const integration = (name: string): string => `arn:\${Partition}:states:::${name}`;
const arnOf = (name: FunctionName): string => `\${${pascalCase(name)}Arn}`;

type Path = '$' | `$.${string}`;
type Fields = Readonly<Record<string, unknown>>;

interface Retrier {
  readonly ErrorEquals: readonly string[];
  readonly IntervalSeconds: number;
  readonly BackoffRate: number;
  readonly MaxAttempts: number;
  readonly MaxDelaySeconds: number;
  readonly JitterStrategy: 'FULL';
}

interface Catcher<Next extends string> {
  readonly ErrorEquals: readonly string[];
  readonly ResultPath: Path;
  readonly Next: Next;
}

interface Rule<Next extends string> {
  readonly Variable: Path;
  readonly StringEquals?: string;
  readonly BooleanEquals?: boolean;
  readonly Next: Next;
}

/** https://states-language.net/spec.html, of which this is the part in use. */
interface State<Next extends string> {
  readonly Comment: string;
  readonly Type: 'Task' | 'Map' | 'Choice' | 'Wait' | 'Pass' | 'Succeed' | 'Fail';
  readonly Resource?: string;
  readonly TimeoutSeconds?: number;
  readonly TimeoutSecondsPath?: Path;
  readonly Parameters?: Fields;
  readonly ItemReader?: Fields;
  readonly ItemSelector?: Fields;
  readonly MaxConcurrencyPath?: Path;
  readonly ToleratedFailurePercentage?: number;
  readonly ItemProcessor?: Fields;
  readonly ResultWriter?: Fields;
  readonly ResultPath?: Path;
  readonly Choices?: readonly Rule<Next>[];
  readonly Default?: Next;
  readonly Seconds?: number;
  readonly SecondsPath?: Path;
  readonly TimestampPath?: Path;
  readonly Error?: string;
  readonly Cause?: string;
  readonly ErrorPath?: Path;
  readonly CausePath?: Path;
  readonly Retry?: readonly Retrier[];
  readonly Catch?: readonly Catcher<Next>[];
  readonly Next?: Next;
  readonly End?: true;
}

interface States<Name extends string> {
  readonly StartAt: Name;
  readonly States: Readonly<Record<Name, State<Name>>>;
}

/** Every name that a state leads to must be one of the keys. */
export const states = <Name extends string>(
  startAt: NoInfer<Name>,
  all: Readonly<Record<Name, State<NoInfer<Name>>>>,
): States<Name> => ({ StartAt: startAt, States: all });

export const machineOf = <Name extends string>(
  comment: string,
  startAt: NoInfer<Name>,
  all: Readonly<Record<Name, State<NoInfer<Name>>>>,
) => ({ Comment: comment, QueryLanguage: 'JSONPath', ...states(startAt, all) });

// Errors, by class

/** All of the account's concurrent executions are in use. */
const THROTTLED = 'Lambda.TooManyRequestsException';
/** AWS or the network does not answer. Our functions throw TransientError for it. */
const FAULTY = [
  'TransientError',
  'Lambda.ServiceException',
  'Lambda.AWSLambdaException',
  'Lambda.SdkClientException',
];
export const UNAVAILABLE = [...FAULTY, THROTTLED];
/** The function's process died or took too long. Every step may run twice. */
const CRASHED = ['Sandbox.Timedout', 'States.Timeout', 'Runtime.ExitError', 'Lambda.Unknown'];

interface Limits {
  readonly attempts: number;
  readonly delaySeconds: number;
}

const policy = ({ attempts, delaySeconds }: Limits, errors: readonly string[]): Retrier => ({
  ErrorEquals: errors,
  IntervalSeconds: 2,
  BackoffRate: 2,
  MaxAttempts: attempts,
  MaxDelaySeconds: delaySeconds,
  JitterStrategy: 'FULL',
});

/** With no jitter the waits add up to 4 and 14 minutes. */
const STANDARD: Limits = { attempts: 8, delaySeconds: 60 };
export const PATIENT: Limits = { attempts: 12, delaySeconds: 120 };
/**
 * A new account may have 10 concurrent executions, so that most items of a Map wait for the others. With jitter the
 * waits add up to 8 hours on average. A try costs one state transition and three of the 25,000 events of an execution.
 */
const THROTTLE: Limits = { attempts: 1_000, delaySeconds: 60 };

/** Errors of a Map itself; those of its items are inside. */
export const MAP_FAILED = [
  'States.ExceedToleratedFailureThreshold',
  'States.ItemReaderFailed',
  'States.ResultWriterFailed',
];

/** Step Functions takes the first policy that names the error. */
const policies = (limits: Limits, errors: readonly string[]): readonly Retrier[] => [
  policy(THROTTLE, [THROTTLED]),
  policy(limits, errors),
];

/** Where an error leads that is not retried, or no more. */
export const on = <Next extends string>(
  errors: readonly string[] | 'States.ALL' | 'States.Timeout',
  next: Next,
  resultPath: Path = '$.error',
): Catcher<Next> => ({
  ErrorEquals: typeof errors === 'string' ? [errors] : errors,
  ResultPath: resultPath,
  Next: next,
});

// States

export interface Transition<Next extends string> {
  readonly resultPath?: Path;
  readonly catch?: readonly Catcher<Next>[];
  /** Absent: the last state. */
  readonly next?: Next;
}

const transition = <Next extends string>({ resultPath, catch: catchers, next }: Transition<Next>) => ({
  ...(resultPath && { ResultPath: resultPath }),
  ...(catchers && { Catch: catchers }),
  ...(next === undefined ? { End: true as const } : { Next: next }),
});

/** More than the function's own timeout, so that Lambda ends it and says so. */
export const taskSeconds = (name: FunctionName): number => functions[name].timeoutSeconds + 10;

interface Task<Next extends string> extends Transition<Next> {
  /** Absent: the function gets all that the execution knows. */
  readonly parameters?: Fields;
  readonly retry?: Limits;
}

/** Calls the function of that folder. */
export const task = <const Next extends string = never>(
  name: FunctionName,
  comment: string,
  { parameters, retry = STANDARD, ...rest }: Task<Next>,
): State<Next> => ({
  Comment: comment,
  Type: 'Task',
  Resource: arnOf(name),
  TimeoutSeconds: taskSeconds(name),
  ...(parameters && { Parameters: parameters }),
  Retry: policies(retry, [...FAULTY, ...CRASHED]),
  ...transition(rest),
});

interface TaskWithToken<Next extends string> extends Transition<Next> {
  readonly payload: Fields;
  readonly timeoutSecondsPath: Path;
}

/** Calls the function with a task token, and waits until the token is answered. */
export const taskWithToken = <const Next extends string = never>(
  name: FunctionName,
  comment: string,
  { payload, timeoutSecondsPath, ...rest }: TaskWithToken<Next>,
): State<Next> => ({
  Comment: comment,
  Type: 'Task',
  Resource: integration('lambda:invoke.waitForTaskToken'),
  TimeoutSecondsPath: timeoutSecondsPath,
  Parameters: { FunctionName: arnOf(name), Payload: { ...payload, 'taskToken.$': '$$.Task.Token' } },
  // The timeout is that of the wait, not of the call.
  Retry: policies(
    STANDARD,
    [...FAULTY, ...CRASHED].filter((error) => error !== 'States.Timeout'),
  ),
  ...transition(rest),
});

interface ForEach<Next extends string> extends Transition<Next> {
  /** Key of a JSON array in the data bucket. */
  readonly itemsKey: string;
  /** Prefix in the data bucket for what Step Functions notes of the items. */
  readonly resultsPrefix: string;
  readonly select: Fields;
  /** Path of the number of items that run side by side. */
  readonly atOncePath: Path;
  readonly processor: States<string>;
  /** Of the items. Absent: the first item that fails stops the others. */
  readonly toleratedFailurePercentage?: number;
  /** Tries the items again that an earlier round has not ended, each of which is safe to repeat. */
  readonly retry?: boolean;
}

/** Runs the processor for each item, each in an execution of its own (a distributed Map). */
export const forEach = <const Next extends string = never>(
  comment: string,
  {
    itemsKey,
    resultsPrefix,
    select,
    atOncePath,
    processor,
    toleratedFailurePercentage,
    retry = false,
    ...rest
  }: ForEach<Next>,
): State<Next> => ({
  Comment: comment,
  Type: 'Map',
  ItemReader: {
    Resource: integration('s3:getObject'),
    ReaderConfig: { InputType: 'JSON' },
    Parameters: { Bucket: BUCKET, 'Key.$': itemsKey },
  },
  ItemSelector: select,
  MaxConcurrencyPath: atOncePath,
  ...(toleratedFailurePercentage !== undefined && { ToleratedFailurePercentage: toleratedFailurePercentage }),
  ItemProcessor: { ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' }, ...processor },
  ResultWriter: {
    Resource: integration('s3:putObject'),
    Parameters: { Bucket: BUCKET, 'Prefix.$': resultsPrefix },
  },
  ...(retry && { Retry: [policy({ attempts: 3, delaySeconds: 60 }, MAP_FAILED)] }),
  ...transition(rest),
});

export const when = <Next extends string>(
  variable: Path,
  value: string | boolean,
  next: Next,
): Rule<Next> => ({
  Variable: variable,
  ...(typeof value === 'string' ? { StringEquals: value } : { BooleanEquals: value }),
  Next: next,
});

/** Takes the first rule that holds. */
export const choice = <Next extends string>(
  comment: string,
  choices: readonly Rule<Next>[],
  otherwise: Next,
): State<Next> => ({ Comment: comment, Type: 'Choice', Choices: choices, Default: otherwise });

/** @param seconds a number, or the path of one */
export const wait = <Next extends string>(
  comment: string,
  seconds: number | Path,
  next: Next,
): State<Next> => ({
  Comment: comment,
  Type: 'Wait',
  ...(typeof seconds === 'number' ? { Seconds: seconds } : { SecondsPath: seconds }),
  Next: next,
});

/** @param moment path of an ISO 8601 time */
export const waitUntil = <Next extends string>(comment: string, moment: Path, next: Next): State<Next> => ({
  Comment: comment,
  Type: 'Wait',
  TimestampPath: moment,
  Next: next,
});

interface Pass<Next extends string> extends Transition<Next> {
  readonly parameters?: Fields;
}

/** Puts the parameters at the result path, or in the place of everything. */
export const pass = <const Next extends string = never>(
  comment: string,
  { parameters, ...rest }: Pass<Next>,
): State<Next> => ({
  Comment: comment,
  Type: 'Pass',
  ...(parameters && { Parameters: parameters }),
  ...transition(rest),
});

export const succeed = (comment: string): State<never> => ({ Comment: comment, Type: 'Succeed' });

export const fail = (
  comment: string,
  reason: Pick<State<never>, 'Error' | 'Cause' | 'ErrorPath' | 'CausePath'>,
): State<never> => ({ Comment: comment, Type: 'Fail', ...reason });
