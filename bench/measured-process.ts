/** What a program takes as a whole process, with all that it starts; other programs' work is not in it. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import * as z from 'zod';

/** Node does not say what its children cost. */
const MEASURE = `
import json, os, sys, time
quiet = os.open(os.devnull, os.O_RDWR)
began = time.monotonic()
child = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, at) for at in (0, 1)])
_, status, usage = os.wait4(child, 0)
print(json.dumps({
    "exitCode": os.waitstatus_to_exitcode(status),
    "seconds": time.monotonic() - began,
    "cpuSeconds": usage.ru_utime + usage.ru_stime,
    "peakBytes": usage.ru_maxrss * 1024,
}))`;

const measured = z.object({
  exitCode: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakBytes: z.number(),
});
export type Measured = z.infer<typeof measured> & { readonly errors: string };

export async function measureProcess(command: readonly string[], env: NodeJS.ProcessEnv): Promise<Measured> {
  const words = ['-c', MEASURE, ...command];
  const { stdout, stderr } = await promisify(execFile)('python3', words, { env, maxBuffer: 64e6 });
  return { ...measured.parse(JSON.parse(stdout)), errors: stderr };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
