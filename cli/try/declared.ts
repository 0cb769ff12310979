/** What is to be started: the declaration of the folder, if there is one, and what was typed over it. */

import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { UsageError } from '@tidewheel/emulators/shared/command-line.ts';
import { readDeclaration } from '../../functions/core/pipeline/declaration.ts';
import type { Pipeline } from '../../functions/core/pipeline/pipeline.ts';
import { trainingSchema } from '../../functions/core/pipeline/training.ts';
import { problemText } from '../../functions/core/shared/errors.ts';
import { declarationAt } from '../command/declared.ts';
import { DECLARATION_FILE } from '../command/runs.ts';

interface Wanted {
  /** Absolute, as is the declaration. */
  readonly folder: string;
  readonly declaration: string | undefined;
  readonly entryPoint: string | undefined;
  readonly arguments: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string>>;
  readonly channels: readonly string[];
}

interface Declared {
  /** Absolute: where the code lies. */
  readonly source: string;
  readonly training: Pipeline['training'];
  /** The first that is declared, without `ml.`. */
  readonly instanceType: string | undefined;
}

const USUAL_NAMES = [DECLARATION_FILE, 'pipeline.yaml', 'pipeline.yml'];

export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** @throws UsageError with every problem of the declaration and of what was typed */
export async function readTraining(wanted: Wanted): Promise<Declared> {
  const { pipeline, source } = await declaredIn(wanted);
  const channels = wanted.channels.filter((name) => name !== 'train');
  const training = trainingSchema.safeParse({
    strategy: 'single',
    ...pipeline?.training,
    ...(wanted.entryPoint !== undefined && { entryPoint: wanted.entryPoint, command: undefined }),
    ...(wanted.arguments !== undefined && { arguments: wanted.arguments }),
    ...(Object.keys(wanted.environment).length > 0 && {
      environment: { ...pipeline?.training.environment, ...wanted.environment },
    }),
    ...(channels.length > 0 && {
      channels: Object.fromEntries(channels.map((name) => [name, `s3://local-data/${name}/`])),
    }),
  });
  if (!training.success)
    throw new UsageError(
      training.error.issues.map(({ path, message }) => `training.${path.join('.')}: ${message}`),
    );
  const [type] = pipeline?.compute.instanceTypes ?? [];
  return { source, training: training.data, instanceType: type?.replace(/^ml\./, '') };
}

async function declaredIn({ folder, declaration }: Wanted): Promise<{
  readonly pipeline: Pipeline | undefined;
  readonly source: string;
}> {
  const file = declaration ?? USUAL_NAMES.map((name) => join(folder, name)).find(isFile);
  if (file === undefined) return { pipeline: undefined, source: folder };
  const { name, text, source } = await declarationAt(folder, file);
  const declared = readDeclaration(name, text);
  if (!declared.valid)
    throw new UsageError(declared.problems.map((problem) => `${basename(file)}: ${problemText(problem)}`));
  return { pipeline: declared.pipeline, source: join(folder, source) };
}
