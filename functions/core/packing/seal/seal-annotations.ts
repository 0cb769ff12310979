/** Seals what a plan found in the file of annotations. */
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import type { Plan } from '../model/documents.ts';
import type { Manifest } from '../model/manifest.ts';
import type { PackingKeys } from '../model/packing-keys.ts';

/** Copies the list of bad rows into the generation. */
export async function sealAnnotations(
  store: BlobStore,
  keys: PackingKeys,
  annotations: NonNullable<Plan['annotations']>,
): Promise<Manifest['annotations']> {
  const { problems } = annotations;
  if (problems === undefined) return annotations;
  const found = await store.get(problems.list);
  if (found.kind !== 'found')
    throw new Error(`${problems.list} is gone: remove the run's plan folder and pack again`);
  const list = keys.annotationProblems;
  await store.put(`${keys.generation}${list}`, joinChunks(found.chunks), { contentType: 'application/gzip' });
  return { ...annotations, problems: { list, sha256: problems.sha256 } };
}
