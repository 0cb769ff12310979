/** Reads the sealed arrivals of one generation. */
import { type BlobStore, joinChunks } from './blob-store.ts';
import { decompress, linesOf } from './compressed-lines.ts';
import { DocumentError } from './documents.ts';
import { type Manifest, type SealedLine, sealedLine } from './manifest.ts';
import { packingKeys } from './packing-keys.ts';

/** In order. @throws DocumentError */
export async function* sealedLines(
  store: BlobStore,
  { pipeline, generation, arrivals }: Manifest,
): AsyncGenerator<SealedLine> {
  const { generation: folder, repair } = packingKeys(pipeline, generation);
  for (const part of arrivals.parts) {
    const key = `${folder}${part.list}`;
    const found = await store.get(key);
    if (found.kind !== 'found')
      throw new DocumentError(
        `${key} is gone: restore it from an older version of the object or from a copy, or run ${repair}`,
      );
    for (const text of linesOf(decompress(joinChunks(found.chunks))))
      yield sealedLine.parse(JSON.parse(text));
  }
}
