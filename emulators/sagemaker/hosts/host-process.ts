/** One host's program as a process tree that cannot outlive this server. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';

export interface HostExit {
  /** 128 and the signal's number for a program that a signal ended, as docker counts it. */
  readonly exitCode: number;
  readonly signal: string | undefined;
  /** Why the program could not be started at all. */
  readonly refusal: string | undefined;
  /** The host went away under its program, as a machine does that fails. */
  readonly isLost: boolean;
}

export interface HostUsage {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** What befalls a host and does not end it; host_faults.py says how. */
export const INJECTED_FAULTS = ['hang', 'slow', 'disk', 'network'] as const;
export type InjectedFault = (typeof INJECTED_FAULTS)[number];

export interface HostProcess {
  /** The parent of all of the host's processes; undefined where it could not be started. */
  readonly supervisorPid: number | undefined;
  /** Settles when nothing of the host is left; never rejects. */
  readonly exited: Promise<HostExit>;
  readonly stdout: Readable;
  readonly stderr: Readable;
  onUsage(listener: (usage: HostUsage) => void): void;
  /** SIGTERM to the program's first process. */
  terminate(): void;
  /** SIGKILL to everything. */
  kill(): void;
  /** The machine fails: as kill, but the host counts as lost. */
  fail(): void;
  /** @returns false where the host has ended */
  inject(fault: InjectedFault): boolean;
}

export interface HostProgram {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  /** Seen as /opt/ml; where that cannot be, its path replaces it in command and SAGEMAKER_BASE_DIR. null: no such folder. */
  readonly optMl: string | null;
}

const SUPERVISOR = fileURLToPath(new URL('host-supervisor.py', import.meta.url));
const SUPERVISOR_LOST = 137;

const reportSchema = z.object({
  started: z.number().optional(),
  refused: z.string().optional(),
  usage: z.object({ cpuSeconds: z.number(), residentBytes: z.number() }).optional(),
  exit: z.object({ code: z.number(), signal: z.string().nullable() }).optional(),
});
type Report = z.output<typeof reportSchema>;

export function startHost(pythonPath: string, program: HostProgram): HostProcess {
  // Nothing from the environment or site-packages takes part, and nothing is written beside the sources. Detached:
  // Ctrl-C in the terminal is for the server alone, which then ends its hosts in order.
  const child = spawn(pythonPath, ['-E', '-s', '-S', '-B', SUPERVISOR], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    env: {},
    detached: true,
  });
  const { stdin, stdout, stderr } = child;
  const control = (line: string): boolean => {
    if (stdin.writable) stdin.write(`${line}\n`);
    return stdin.writable;
  };
  // A supervisor that has just ended breaks the pipe; its exit says the rest.
  stdin.on('error', () => {});
  control(JSON.stringify(program));
  let hasFailed = false;
  const listeners: ((usage: HostUsage) => void)[] = [];
  return {
    supervisorPid: child.pid,
    exited: watch(child, (usage) => listeners.forEach((listener) => listener(usage))).then((exit) => ({
      ...exit,
      isLost: exit.isLost || hasFailed,
    })),
    stdout,
    stderr,
    onUsage: (listener) => listeners.push(listener),
    terminate: () => control('TERM'),
    kill: () => control('KILL'),
    fail: () => {
      hasFailed = true;
      control('KILL');
    },
    inject: (fault) => control(`FAULT ${fault}`),
  };
}

function watch(child: ChildProcess, onUsage: (usage: HostUsage) => void): Promise<HostExit> {
  const { promise, resolve } = Promise.withResolvers<HostExit>();
  let leader: number | undefined;
  let refusal: string | undefined;
  let exit: Report['exit'];
  const take = (report: Report): void => {
    leader = report.started ?? leader;
    refusal = report.refused ?? refusal;
    exit = report.exit ?? exit;
    if (report.usage) onUsage(report.usage);
  };
  child.on('error', (error) => {
    const refusal = `the supervisor could not be started: ${error.message}`;
    resolve({ exitCode: 127, signal: undefined, refusal, isLost: false });
  });
  // Not the end of the program's output: something that got away with it open must not hold the job.
  void Promise.all([readReports(child, take), exitOf(child)]).then(() => {
    // The supervisor itself was killed: what it guarded goes too.
    if (!exit && leader !== undefined) killGroup(leader);
    return resolve({
      exitCode: exit?.code ?? SUPERVISOR_LOST,
      signal: exit?.signal ?? undefined,
      refusal,
      isLost: exit === undefined,
    });
  });
  return promise;
}

const exitOf = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => child.once('exit', () => resolve()));

function readReports(child: ChildProcess, take: (report: Report) => void): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const reports = child.stdio[3];
  if (!reports || !('setEncoding' in reports)) return Promise.resolve();
  createInterface({ input: reports })
    // A kill may cut the last line short.
    .on('line', (line) => take(reportSchema.safeParse(parseJson(line)).data ?? {}))
    .on('close', () => resolve());
  return promise;
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // It is gone already.
  }
}
