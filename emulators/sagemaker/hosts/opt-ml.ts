/** The hosts' own view of their folders as /opt/ml (opt_ml.py), and their links as this process has to follow them. */
import { execFile } from 'node:child_process';
import { readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

export const OPT_ML = '/opt/ml';

/** For people, where `canShowOptMl` is false. */
export const NOT_SHOWN =
  'Hosts of this machine have no /opt/ml of their own, and their folders change from attempt to attempt: scripts that remember absolute paths cannot be trusted here, and a source that names /opt/ml is refused. Remedy: let the kernel give namespaces (Ubuntu: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0; a container: --privileged)';

/** @param needed a path that must stay in sight: it may lie below /opt/ml itself */
export const canShowOptMl = (pythonPath: string, needed: string): Promise<boolean> =>
  promisify(execFile)(pythonPath, ['-I', '-S', '-B', join(import.meta.dirname, 'opt_ml.py'), needed])
    .then(() => true)
    .catch(() => false);

/** @returns where a link leads that goes through the host's /opt/ml; else the path itself */
export async function followOutside(path: string, base: string): Promise<string> {
  const target = await readlink(path).catch(() => '');
  return target.startsWith(`${OPT_ML}/`) ? join(base, target.slice(OPT_ML.length)) : path;
}
