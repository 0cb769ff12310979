/** Our data path alone: list and read everything, write nothing. */
import { listPages } from '../../functions/core/packing/model/blob-store.ts';
import type { PlannedMember } from '../../functions/core/packing/model/documents.ts';
import { DEFAULT_WINDOW, FetchWindow } from '../../functions/core/packing/shard/fetch-window.ts';
import { readPieces } from '../../functions/core/packing/shard/read-spans.ts';
import { openBenchStore } from '../bench-store.ts';

await using opened = await openBenchStore();
const members: PlannedMember[] = [];
for await (const page of listPages(opened.store, 'bench/incoming/')) {
  for (const { key, size, etag } of page.objects) members.push({ key, size, etag, alone: false });
}
const window = new FetchWindow(opened.store, members, DEFAULT_WINDOW);
let bytes = 0;
for (const member of members)
  for (const _ of readPieces(member, DEFAULT_WINDOW.pieceBytes)) {
    const result = await window.next();
    window.release();
    if (result.kind === 'found') bytes += result.size;
  }
console.log(JSON.stringify({ objects: members.length, bytes }));
