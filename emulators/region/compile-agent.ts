/** Compiles the agent for the package, as an image would bring it compiled. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

interface Compilation {
  readonly projectFolder: string;
  /** The Python that runs the hosts. */
  readonly pythonPath: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The agent then starts in half of the CPU on hosts with this version of Python. Others compile its sources, and so do
 * these where a source has changed since: each compiled file names the hash of its source.
 */
export async function compileAgent({ projectFolder, pythonPath, signal }: Compilation): Promise<void> {
  const folders = ['agent', 'automatic', 'instrument'].map((name) => join('training', name));
  const args = ['-I', '-m', 'compileall', '-q', '-f', '--invalidation-mode', 'checked-hash', ...folders];
  await promisify(execFile)(pythonPath, args, { cwd: projectFolder, ...(signal && { signal }) });
}
