/**
 * Compares an object with the composite checksum of its multipart upload, which is made of the checksums of the parts.
 * S3 tells their sizes only by GetObjectAttributes: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAttributes.html
 */

import { keptSum, startSum } from '@tidewheel/packing/checksums.ts';
import { type KeptSums, SUM_KINDS, type WholeCheck } from '@tidewheel/packing/store.ts';
import { type CompositeSum, isComposedOf, type Summing } from './checksum.ts';
import { type Answer, bodyText } from './http-transport.ts';
import type { Requester } from './requester.ts';
import { type ObjectPart, type PartsPage, parseObjectParts } from './xml.ts';

interface Composed {
  readonly key: string;
  readonly etag: string;
  /** Bytes of the object. */
  readonly size: number;
  readonly composite: CompositeSum;
}

/**
 * One request for a thousand parts. Undefined if S3 does not tell the parts, or others than those of the composite: then
 * nothing is known of the bytes.
 * @throws S3Refused where s3:GetObjectAttributes is not allowed
 */
export async function checkByParts(
  requester: Requester,
  composed: Composed,
): Promise<WholeCheck | undefined> {
  const { size, composite } = composed;
  const parts = await partsOf(requester, composed);
  const bytes = parts?.reduce((sum, part) => sum + part.size, 0);
  if (parts?.length !== composite.parts || bytes !== size) return undefined;
  const sums = parts.map(({ sum }) => sum);
  return isComposedOf(composite, sums) ? new PartsCheck(composite, parts) : undefined;
}

async function partsOf(
  requester: Requester,
  { key, etag, composite }: Composed,
): Promise<readonly ObjectPart[] | undefined> {
  const parts: ObjectPart[] = [];
  for (let marker: string | undefined = '0'; marker !== undefined; ) {
    const answer: Answer = await requester.send({
      operation: 'GetObjectAttributes',
      method: 'GET',
      key,
      query: [['attributes', '']],
      amzHeaders: [
        ['x-amz-object-attributes', 'ETag,ObjectParts'],
        ['x-amz-part-number-marker', marker],
      ],
      accept: [200, 404],
    });
    // The request takes no If-Match.
    const page: PartsPage | undefined =
      answer.status === 200 ? parseObjectParts(bodyText(answer), composite.algorithm) : undefined;
    if (page?.etag !== etag) return undefined;
    parts.push(...page.parts);
    marker = parts.length < composite.parts && page.parts.length > 0 ? page.next : undefined;
  }
  return parts;
}

/** Compares each part with its checksum. */
class PartsCheck implements WholeCheck {
  readonly #composite: CompositeSum;
  readonly #parts: readonly ObjectPart[];
  #part = 0;
  #left: number;
  #summing: Summing;
  #isIntact = true;

  constructor(composite: CompositeSum, parts: readonly ObjectPart[]) {
    this.#composite = composite;
    this.#parts = parts;
    this.#left = parts[0]?.size ?? 0;
    this.#summing = composite.start();
  }

  add(chunk: Uint8Array): void {
    for (let rest = chunk; rest.length > 0; ) {
      while (this.#left === 0 && this.#part < this.#parts.length) this.#next();
      if (this.#left === 0) {
        this.#isIntact = false;
        return;
      }
      const taken = rest.subarray(0, this.#left);
      this.#summing.add(taken);
      this.#left -= taken.length;
      rest = rest.subarray(taken.length);
    }
  }

  isIntact(): boolean {
    while (this.#left === 0 && this.#part < this.#parts.length) this.#next();
    return this.#isIntact && this.#part === this.#parts.length;
  }

  /** The CRC of the whole follows from those of the parts. A SHA does not. */
  get sums(): KeptSums {
    const kind = SUM_KINDS.find((one) => one.toUpperCase() === this.#composite.algorithm);
    if (kind === undefined) return {};
    const whole = startSum(kind);
    for (const { sum, size } of this.#parts) whole.append(sum, size);
    return keptSum(whole);
  }

  /** Compares the part that is complete. */
  #next(): void {
    if (this.#summing.sum() !== this.#parts[this.#part]?.sum) this.#isIntact = false;
    this.#part += 1;
    this.#left = this.#parts[this.#part]?.size ?? 0;
    this.#summing = this.#composite.start();
  }
}
