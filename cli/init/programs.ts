/** The texts of the programs in Python. The built command line has them inside (`build-program.ts`). */
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export type ProgramName = 'read_launch.py' | 'unpack_source.py';

export const pythonText = (name: ProgramName): Promise<string> =>
  readFile(path.join(import.meta.dirname, name), 'utf8');
