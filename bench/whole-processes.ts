/** What commands cost as whole processes, beside a bare Node. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import * as z from 'zod';

/** Program and arguments by the name of each. */
type Commands = Readonly<Record<string, readonly string[]>>;

/** Node does not say what its children cost. */
const MEASURE = `
import json, os, sys
commands = json.load(sys.stdin)
quiet = os.open(os.devnull, os.O_RDWR)
seen = {name: [] for name in commands}
for _ in range(int(sys.argv[1])):
    for name in (each for command in commands for each in dict.fromkeys(("bare Node", command))):
        command = commands[name]
        child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, quiet, at) for at in (0, 1, 2)])
        _, status, usage = os.wait4(child, 0)
        seen[name].append((usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status)))
print(json.dumps(seen))`;

const seenSchema = z.record(z.string(), z.array(z.tuple([z.number(), z.number(), z.number()])));

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

async function measure(commands: Commands, rounds: number, env: NodeJS.ProcessEnv) {
  const python = spawn('python3', ['-c', MEASURE, String(rounds)], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  python.stdin.end(JSON.stringify(commands));
  return seenSchema.parse(JSON.parse(await text(python.stdout)));
}

export interface ProcessCost {
  readonly exitCodes: string;
  readonly cpuMilliseconds: number;
  readonly timesBareNode: number;
  readonly residentMegabytes: number;
}

/** Medians of rounds in which each command runs once, after a bare Node, so that a busy machine slows both alike. */
export async function costsBesideNode(
  commands: Commands,
  rounds: number,
  env: NodeJS.ProcessEnv,
): Promise<Map<string, ProcessCost>> {
  const all = { 'bare Node': [process.execPath, '--eval', '0'], ...commands };
  // Builds what a first run builds, and fills the compile cache.
  await measure(all, 2, env);
  const seen = await measure(all, rounds, env);
  const bare = medianOf((seen['bare Node'] ?? []).map(([cpu]) => cpu));
  return new Map(
    Object.entries(seen).map(([command, ends]) => {
      const cpu = medianOf(ends.map(([seconds]) => seconds));
      return [
        command,
        {
          exitCodes: [...new Set(ends.map(([, , code]) => code))].join(),
          cpuMilliseconds: Math.round(cpu * 1_000),
          timesBareNode: Number((cpu / bare).toFixed(1)),
          residentMegabytes: Math.round(medianOf(ends.map(([, kilobytes]) => kilobytes)) / 1_000),
        },
      ];
    }),
  );
}
