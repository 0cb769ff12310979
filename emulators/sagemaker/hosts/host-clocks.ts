/** Gives the hosts of a job clocks of their own (host_clocks.py), so that types with unequal vCPUs can be compared here. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Host } from './container.ts';

const clockFile = (host: Host): string => join(host.root, 'clock');

/**
 * The agent reads the first one (training/agent/tidewheel_agent/lifecycle/step_limit.py). With the others, OpenMP's threads
 * sleep while they wait for each other: a thread that spins would count as one that works, and for longer on few CPUs.
 */
export const clockEnvironment = (host: Host): Readonly<Record<string, string>> => ({
  TIDEWHEEL_HOST_CLOCK: clockFile(host),
  OMP_WAIT_POLICY: 'passive',
  KMP_BLOCKTIME: '0',
});

export interface ClockedHost {
  readonly host: Host;
  readonly vcpus: number;
  /** Of the supervisor, which is the parent of all its processes. */
  readonly pid: number;
}

export interface HostClocks {
  /** Lets all hosts run freely; idempotent. */
  stop(): void;
}

/** More threads or workers than this for each CPU of this machine would fill its memory. */
const MOST_VCPUS = 8;

/**
 * @param vcpusOf of a type, where the job's hosts are to have clocks
 * @returns of each host; undefined where one has none, because clocks of some hosts alone compare nothing
 */
export function clockedVcpus(
  hosts: readonly Host[],
  vcpusOf: (instanceType: string) => number | undefined,
): readonly number[] | undefined {
  const most = MOST_VCPUS * availableParallelism();
  const found = hosts.flatMap(({ instanceType }) => vcpusOf(instanceType) ?? []);
  const isWhole = found.length === hosts.length && found.every((vcpus) => vcpus <= most);
  return isWhole && process.platform === 'linux' ? found : undefined;
}

const PROGRAM = fileURLToPath(new URL('host_clocks.py', import.meta.url));

export function startHostClocks(
  pythonPath: string,
  clocked: readonly ClockedHost[],
  log: (line: string) => void,
): HostClocks {
  const child = spawn(pythonPath, ['-E', '-s', '-S', '-B', PROGRAM], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: {},
    detached: true,
  });
  const hosts = clocked.map(({ host, vcpus, pid }) => ({ supervisor: pid, vcpus, file: clockFile(host) }));
  child.stdin.on('error', () => {});
  child.stdin.write(`${JSON.stringify(hosts)}\n`);
  child.stderr.setEncoding('utf8').on('data', (text: string) => log(`host clocks: ${text.trimEnd()}`));
  let isWanted = true;
  let next: HostClocks | undefined;
  child.on('error', (error) => log(`host clocks: ${error.message}`));
  child.on('exit', (_, signal) => {
    // Killed, perhaps with hosts stopped: another one continues their clocks.
    if (isWanted && signal !== null) next = startHostClocks(pythonPath, clocked, log);
  });
  return {
    stop: () => {
      isWanted = false;
      child.stdin.end();
      next?.stop();
    },
  };
}
