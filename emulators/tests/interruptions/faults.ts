/** Strikes the processes of a host, by the home folder that their environment names. Linux. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Fault } from './plan.ts';

interface HostProcess {
  readonly pid: number;
  readonly command: string;
}

/** Living processes of the host whose /opt/ml is this folder. */
export function processesOf(base: string): HostProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const environment = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0');
        if (!environment.includes(`HOME=${path.join(base, '../../root')}`)) return [];
        if (readFileSync(`/proc/${name}/status`, 'latin1').includes('State:\tZ')) return [];
        return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, 'latin1') }];
      } catch {
        // It has gone, or is not ours to look at.
        return [];
      }
    });
}

const isAgent = ({ command }: HostProcess): boolean => command.includes('/input/data/agent');
const isRank = ({ command }: HostProcess): boolean =>
  command.includes('train.py') && !command.includes('torch.distributed.run') && !isAgent({ pid: 0, command });

/** @returns how many processes were there to be killed */
export function strike(fault: Exclude<Fault, 'reclaim'>, bases: readonly string[], host: number): number {
  const struck = fault === 'killAll' ? bases : bases.slice(host, host + 1);
  const all = struck.flatMap(processesOf);
  const victims =
    fault === 'killAgent' ? all.filter(isAgent) : fault === 'killRank' ? all.filter(isRank) : all;
  for (const { pid } of victims) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It was quicker.
    }
  }
  return victims.length;
}
