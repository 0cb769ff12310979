/** An interpreter under which no program gets a mount namespace, as containers and hardened systems have it. */
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { projectPython } from './emulator.ts';

/** Where this machine itself gives none, the project's own interpreter will do. */
export const hasNamespaces = spawnSync('unshare', ['-Ur', '-m', 'true']).status === 0;

/** @param folder takes the program */
export async function pythonWithoutNamespaces(folder: string): Promise<string> {
  const file = path.join(folder, 'python-without-namespaces');
  const limited = `echo 0 > /proc/sys/user/max_mnt_namespaces && exec ${projectPython()} "$@"`;
  await writeFile(file, `#!/bin/sh\nexec unshare -Ur sh -c '${limited}' sh "$@"\n`, { mode: 0o755 });
  return hasNamespaces ? file : projectPython();
}
