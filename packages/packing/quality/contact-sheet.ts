/** Samples of a version on one page without scripts: pictures, and the beginning of texts. */
import { belowIncoming } from '@tidewheel/contract/bucket-keys.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { MemberLine } from '../documents/documents.ts';
import type { ImageEngine } from '../documents/image-preparation.ts';
import { readSampleMember, type StoredSample } from '../versions/read-samples.ts';
import { type Html, html, htmlPage } from './html.ts';
import { pictureOf } from './thumbnails.ts';

/** A larger member is only named. */
const MOST_BYTES = 8e6;
const MOST_CHARACTERS = 400;

export interface SheetInput {
  readonly title: string;
  readonly pipeline: string;
  readonly samples: readonly StoredSample[];
}

export async function contactSheet(
  { store, images }: { readonly store: BlobStore; readonly images?: ImageEngine | undefined },
  { title, pipeline, samples }: SheetInput,
): Promise<string> {
  const items: Html[] = [];
  for (const sample of samples) {
    const parts: Html[] = [];
    for (const line of sample.lines) parts.push(await memberPart({ store, images }, sample, line));
    const key = sample.lines.find((line) => line.key !== undefined)?.key ?? '';
    const label = sample.lines.find((line) => line.label !== undefined)?.label;
    items.push(
      html`<li>${parts}<code><bdi>${belowIncoming(pipeline, key)}</bdi></code>${label === undefined ? html`` : html` <b><bdi>${label}</bdi></b>`}
<br><small>${sample.manifest.generation}/${sample.shard.name}</small></li>`,
    );
  }
  return htmlPage(title, html`<ul class="sheet">${items}</ul>`);
}

async function memberPart(
  { store, images }: { readonly store: BlobStore; readonly images?: ImageEngine | undefined },
  sample: StoredSample,
  line: MemberLine,
): Promise<Html> {
  if (line.label !== undefined) return html``;
  const suffix = line.name.slice(line.name.lastIndexOf('.'));
  if (line.size > MOST_BYTES) return html`<p>${suffix}: ${line.size} bytes</p>`;
  const bytes = await readSampleMember(store, sample, line);
  const picture = await pictureOf(bytes, images);
  if (picture !== undefined) return html`<img alt="" src="${picture}"><br>`;
  const text = textOf(bytes);
  return text === undefined ? html`<p>${suffix}: ${line.size} bytes</p>` : html`<pre>${text}</pre>`;
}

/** The beginning of a UTF-8 text; undefined for anything else. */
export function textOf(bytes: Uint8Array): string | undefined {
  const head = bytes.subarray(0, MOST_CHARACTERS * 4);
  try {
    const text = new TextDecoder('utf8', { fatal: true }).decode(head, {
      stream: head.length < bytes.length,
    });
    return text.includes('\u0000') ? undefined : text.slice(0, MOST_CHARACTERS);
  } catch (error: unknown) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
