/** One execution of states of the run's machine over given functions. Waits take no time. */
import { type Data, type Machine, runMachine } from './asl.ts';
import { type Answer, type Execution, execute } from './execution.ts';
import { seededChoices } from './random.ts';

export interface Executed {
  /** The last state, or the error that no state caught. */
  readonly end: string | undefined;
  readonly waitedSeconds: number;
  readonly visited: readonly string[];
}

export interface Start {
  readonly startAt: string;
  readonly input: Data & { readonly runId: string };
  /** States that stand in the place of those of the machine. */
  readonly states?: Machine['States'];
  /** @throws an error of which the state machine sees name and message */
  readonly call: (functionName: string, event: Data) => Promise<unknown>;
  readonly readItems: (key: string) => unknown[];
}

export async function executeStates({ startAt, input, states, call, readItems }: Start): Promise<Executed> {
  let waitedSeconds = 0;
  const visited: string[] = [];
  const invoke = async (name: string, event: Data): Promise<Answer> => {
    try {
      return { kind: 'ok', value: await call(name, event) };
    } catch (error: unknown) {
      if (!(error instanceof Error)) throw error;
      return { kind: 'error', name: error.name, cause: error.message };
    }
  };
  const sleep = (seconds: number): Promise<void> => {
    waitedSeconds += seconds;
    return Promise.resolve();
  };
  const execution: Execution = { name: input.runId, status: 'running' };
  await execute(
    {
      machine: { StartAt: startAt, States: { ...runMachine.States, ...states } },
      invoke,
      random: seededChoices(0),
      loop: {
        sleep,
        sleepUntil: () => Promise.resolve(),
        after: () => {},
        gate: () => Promise.resolve(),
        run: () => Promise.resolve(true),
      },
      awaitToken: () => Promise.reject(new Error('no task waits for a token here')),
      readItems,
      retried: () => {},
      entered: (_, state) => visited.push(state),
    },
    execution,
    input,
  );
  return { end: execution.end, waitedSeconds, visited };
}

/** A state of the machine, to stand in another's place. */
export const stateOf = (name: string): Machine['States'][string] => {
  const state = runMachine.States[name];
  if (state === undefined) throw new Error(`the state machine has no state ${name}`);
  return state;
};
