/**
 * The part of S3 that packing uses, answered from memory by bare Node HTTP: fast enough not to be what is measured.
 * Objects are made up from their number, so that millions need no memory. Pages, conditions, ranges, multipart
 * uploads and checksums are as on S3; signatures are not checked.
 */

import { createHash } from 'node:crypto';
import type http from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { serveLocally } from '@tidewheel/emulators/access/local-server.ts';
import { SUM_KINDS } from '@tidewheel/packing/store.ts';
import { attributesAnswer, checksumHeaders, isAsSummed, type StoredChecksum } from './checksum-headers.ts';
import { copiedBytes, copyAnswer, type OpenUpload, ofOtherBytes } from './copy-part.ts';
import { type Damage, spoil } from './damaged-answer.ts';
import { type Call, failure, type Reply } from './exchange.ts';
import {
  type Corpus,
  corpusBody,
  corpusEtag,
  type Entry,
  listingXml,
  type Page,
  type PageRequest,
  pageOf,
} from './listing.ts';

interface Stored {
  /** Empty where only the size was kept. */
  readonly body: Buffer;
  readonly size: number;
  readonly etag: string;
}

/** Larger bodies are forgotten at once where a server keeps none: what is packed would not fit into memory. */
const KEPT_BYTES = 32 * 1024 * 1024;

interface Faults {
  /** What to do to the n-th request; undefined lets it pass. */
  decide(request: { method: string; path: string }): Fault | undefined;
}
/** `wrongCopy`: UploadPartCopy takes other bytes of the source, and names their checksum. */
export type Fault = 'slowDown' | 'internalError' | 'errorWith200' | 'reset' | 'stall' | 'wrongCopy' | Damage;

export interface MemoryS3Options {
  readonly corpus?: Corpus;
  readonly faults?: Faults;
  /** Added to every answer. */
  readonly latencyMilliseconds?: number;
  /** False: of shards only the size is kept, once their checksums were seen to be right. May be changed at any time. */
  readonly keepsShards?: { now: boolean };
  /** Sent with an object that is read whole. Default: CRC-32. */
  readonly checksum?: StoredChecksum;
  /** The ETag of a made-up object is its MD5, as on S3, and not only a text of its own. */
  readonly md5Etags?: boolean;
  /** Each listing begins with a page without keys that says that it goes on. */
  readonly emptyPages?: boolean;
  /** The Date that answers name; default: now. */
  readonly date?: string;
}

export interface MemoryS3 {
  readonly url: string;
  readonly port: number;
  /** Requests by kind, since the start. */
  readonly requests: Map<string, number>;
  readonly objects: Map<string, Stored>;
  /** Forgets everything that was written. */
  clear(): void;
  stop(): Promise<void>;
}

export async function startMemoryS3(options: MemoryS3Options = {}): Promise<MemoryS3> {
  const objects = new Map<string, Stored>();
  const uploads = new Map<string, OpenUpload>();
  const requests = new Map<string, number>();
  const clear = (): void => {
    objects.clear();
    uploads.clear();
    requests.clear();
  };
  const state: MemoryS3 = { url: '', port: 0, requests, objects, clear, stop: async () => {} };
  const service = new Service({ objects, uploads, state, options });
  const server = await serveLocally((request, response) => service.receive(request, response));
  const { url, port } = server;
  return Object.assign(state, { url, port, stop: () => server.close() });
}

interface Parts {
  readonly objects: Map<string, Stored>;
  readonly uploads: Map<string, OpenUpload>;
  readonly state: MemoryS3;
  readonly options: MemoryS3Options;
}

class Service {
  readonly #parts: Parts;
  #uploadNumber = 0;
  #sortedKeys: string[] | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async receive(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const latency = this.#parts.options.latencyMilliseconds ?? 0;
    const body = await buffer(request);
    if (latency > 0) await sleep(latency);
    this.#serve(request, response, body);
  }

  #serve(request: http.IncomingMessage, response: http.ServerResponse, body: Buffer): void {
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const slash = path.indexOf('/', 1);
    const key = slash < 0 ? '' : decodeURIComponent(path.slice(slash + 1));
    const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
    const method = request.method ?? 'GET';
    this.#reply({ method, key, query, headers: request.headers, body }, response, target);
  }

  #reply(call: Call, response: http.ServerResponse, target: string): void {
    const { method } = call;
    const fault = this.#parts.options.faults?.decide({ method, path: target });
    if (fault === 'slowDown') return this.#send(response, method, failure(503, 'SlowDown'));
    if (fault === 'errorWith200')
      return this.#send(response, method, { ...failure(500, 'InternalError'), status: 200 });
    if (fault === 'reset') return void response.socket?.destroy();
    if (fault === 'wrongCopy') return this.#send(response, method, this.#answer(ofOtherBytes(call)));
    const reply = this.#answer(call);
    if (fault === 'internalError') return this.#send(response, method, failure(500, 'InternalError'));
    if (fault === 'stall') return;
    if (fault !== undefined) return spoil(response, reply, fault);
    this.#send(response, method, reply);
  }

  #send(response: http.ServerResponse, method: string, reply: Reply): void {
    const length = typeof reply.body === 'string' ? Buffer.byteLength(reply.body) : (reply.body?.length ?? 0);
    const headers = { 'content-length': String(length), ...reply.headers };
    response.writeHead(reply.status, headers);
    response.end(method === 'HEAD' ? undefined : reply.body);
  }

  #count(kind: string): void {
    const { requests } = this.#parts.state;
    requests.set(kind, (requests.get(kind) ?? 0) + 1);
  }

  #answer(call: Call): Reply {
    const kind = this.#kindOf(call);
    this.#count(kind);
    switch (kind) {
      case 'list':
        return this.#list(call);
      case 'get':
        return this.#get(call);
      case 'head':
        return this.#head(call);
      case 'put':
        return this.#put(call);
      case 'delete':
        return this.#delete(call);
      case 'createUpload':
        return this.#createUpload(call);
      case 'uploadPart':
        return this.#uploadPart(call);
      case 'completeUpload':
        return this.#completeUpload(call);
      case 'abortUpload':
        return { status: this.#parts.uploads.delete(call.query.get('uploadId') ?? '') ? 204 : 404 };
      default:
        return failure(501, 'NotImplemented');
    }
  }

  #kindOf({ method, key, query }: Call): string {
    const upload = query.has('uploadId');
    if (method === 'GET') return key === '' ? 'list' : 'get';
    if (method === 'HEAD') return 'head';
    if (method === 'PUT') return key === '' ? 'createBucket' : upload ? 'uploadPart' : 'put';
    if (method === 'DELETE') return upload ? 'abortUpload' : 'delete';
    if (method === 'POST') return query.has('uploads') ? 'createUpload' : upload ? 'completeUpload' : 'other';
    return 'other';
  }

  #find(key: string): Stored | undefined {
    const stored = this.#parts.objects.get(key);
    if (stored !== undefined) return stored;
    const { corpus } = this.#parts.options;
    const index = corpus?.indexOf(key);
    if (corpus === undefined || index === undefined) return undefined;
    const size = corpus.sizeAt(index);
    return { body: corpusBody(index, size), size, etag: this.#corpusEtag(index, size) };
  }

  #corpusEtag(index: number, size: number): string {
    if (this.#parts.options.md5Etags !== true) return corpusEtag(index);
    return createHash('md5').update(corpusBody(index, size)).digest('hex');
  }

  #get({ key, headers, query }: Call): Reply {
    const found = this.#find(key);
    if (found === undefined) return failure(404, 'NoSuchKey');
    if (query.has('attributes')) return attributesAnswer(found, headers, this.#parts.options.checksum);
    const wanted = headers['if-match'];
    if (wanted !== undefined && wanted !== `"${found.etag}"`) return failure(412, 'PreconditionFailed');
    const range = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '');
    const etag = `"${found.etag}"`;
    if (range !== null) {
      const body = found.body.subarray(Number(range[1]), Number(range[2]) + 1);
      const last = Number(range[1]) + body.length - 1;
      return {
        status: 206,
        headers: { etag, 'content-range': `bytes ${range[1]}-${last}/${found.body.length}` },
        body,
      };
    }
    return { status: 200, headers: { etag, ...this.#checksum(headers, found.body) }, body: found.body };
  }

  #checksum(headers: http.IncomingHttpHeaders, body: Buffer): Record<string, string> {
    return checksumHeaders(headers, body, this.#parts.options.checksum);
  }

  #head({ key, headers }: Call): Reply {
    const found = this.#find(key);
    if (found === undefined) return { status: 404 };
    const isKept = found.body.length === found.size;
    const checksum = isKept ? this.#checksum(headers, found.body) : {};
    return {
      status: 200,
      headers: { etag: `"${found.etag}"`, 'content-length': String(found.size), ...checksum },
    };
  }

  #put({ key, headers, body }: Call): Reply {
    const found = this.#find(key);
    if (headers['if-none-match'] === '*' && found !== undefined) return failure(412, 'PreconditionFailed');
    const wanted = headers['if-match'];
    if (wanted !== undefined && wanted !== `"${found?.etag}"`) return failure(412, 'PreconditionFailed');
    if (!isAsSummed(headers, body)) return failure(400, 'BadDigest');
    return { status: 200, headers: { etag: `"${this.#store(key, body)}"` } };
  }

  get #keepsShards(): boolean {
    return this.#parts.options.keepsShards?.now !== false;
  }

  #store(key: string, body: Buffer): string {
    const { length: size } = body;
    const isKept = this.#keepsShards || size < KEPT_BYTES;
    const etag = isKept ? createHash('md5').update(body).digest('hex') : `${crc32(body)}-1`;
    return this.#keep(key, { body: isKept ? body : Buffer.alloc(0), size, etag });
  }

  #keep(key: string, stored: Stored): string {
    if (!this.#parts.objects.has(key)) this.#sortedKeys = undefined;
    this.#parts.objects.set(key, stored);
    return stored.etag;
  }

  #delete({ key, headers }: Call): Reply {
    const wanted = headers['if-match'];
    const found = this.#find(key);
    if (wanted !== undefined && found !== undefined && wanted !== `"${found.etag}"`)
      return failure(412, 'PreconditionFailed');
    this.#parts.objects.delete(key);
    this.#sortedKeys = undefined;
    return { status: 204 };
  }

  #createUpload({ headers }: Call): Reply {
    this.#uploadNumber += 1;
    const id = `upload-${this.#uploadNumber}`;
    const named = String(headers['x-amz-checksum-algorithm']).toLowerCase();
    const sum = SUM_KINDS.find((kind) => kind === named) ?? 'crc32';
    this.#parts.uploads.set(id, { parts: new Map(), sum });
    return {
      status: 200,
      body: `<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    };
  }

  #uploadPart({ query, body, headers }: Call): Reply {
    const upload = this.#parts.uploads.get(query.get('uploadId') ?? '');
    if (upload === undefined) return failure(404, 'NoSuchUpload');
    const number = Number(query.get('partNumber'));
    if (headers['x-amz-copy-source'] !== undefined) return this.#copyPart(upload, number, headers);
    if (!isAsSummed(headers, body)) return failure(400, 'BadDigest');
    const { length: size } = body;
    const isKept = this.#keepsShards;
    upload.parts.set(number, { body: isKept ? body : Buffer.alloc(0), size });
    const etag = isKept ? createHash('md5').update(body).digest('hex') : String(crc32(body));
    return { status: 200, headers: { etag: `"${etag}"` } };
  }

  #copyPart({ parts, sum }: OpenUpload, number: number, headers: http.IncomingHttpHeaders): Reply {
    const copied = copiedBytes(headers, (key) => this.#find(key));
    if ('status' in copied) return copied;
    parts.set(number, {
      body: this.#keepsShards ? Buffer.from(copied) : Buffer.alloc(0),
      size: copied.length,
    });
    return copyAnswer(copied, sum, this.#keepsShards);
  }

  #completeUpload({ key, query }: Call): Reply {
    const id = query.get('uploadId') ?? '';
    const parts = this.#parts.uploads.get(id)?.parts;
    if (parts === undefined) return failure(404, 'NoSuchUpload');
    const inOrder = [...parts.entries()].sort(([a], [b]) => a - b).map(([, part]) => part);
    if (inOrder.slice(0, -1).some(({ size }) => size < 5 * 1024 * 1024))
      return failure(400, 'EntityTooSmall');
    this.#parts.uploads.delete(id);
    const size = inOrder.reduce((sum, part) => sum + part.size, 0);
    const body = Buffer.concat(inOrder.map((part) => part.body));
    const isKept = body.length === size;
    const etag = isKept ? this.#store(key, body) : this.#keep(key, { body, size, etag: `${id}-${size}` });
    return {
      status: 200,
      body: `<CompleteMultipartUploadResult><ETag>&quot;${etag}&quot;</ETag></CompleteMultipartUploadResult>`,
    };
  }

  #list({ query }: Call): Reply {
    const prefix = query.get('prefix') ?? '';
    const after = query.get('continuation-token') ?? query.get('start-after') ?? '';
    const limit = Math.min(1_000, Number(query.get('max-keys') ?? 1_000));
    const delimiter = query.get('delimiter');
    const isEmpty = this.#parts.options.emptyPages === true && !query.has('continuation-token');
    const page = delimiter !== null ? this.#folders(prefix, delimiter) : this.#page({ prefix, after, limit });
    const empty: Page = { entries: [], folders: [], next: after || prefix };
    return {
      status: 200,
      headers: { date: this.#parts.options.date ?? new Date().toUTCString() },
      body: listingXml(isEmpty && delimiter === null ? empty : page),
    };
  }

  /** Corpus keys and stored keys do not share prefixes here, so one of the two answers. */
  #page(request: PageRequest): Page {
    const { corpus } = this.#parts.options;
    if (corpus !== undefined && corpus.count > 0 && corpus.keyAt(0).startsWith(request.prefix)) {
      const entryAt = (index: number): Entry => ({
        key: corpus.keyAt(index),
        size: corpus.sizeAt(index),
        etag: this.#corpusEtag(index, corpus.sizeAt(index)),
      });
      return pageOf({ count: corpus.count, entryAt }, request);
    }
    const keys = this.#keys();
    const entryAt = (index: number): Entry => this.#entry(keys[index] ?? '');
    return pageOf({ count: keys.length, entryAt }, request);
  }

  #entry(key: string): Entry {
    const stored = this.#parts.objects.get(key);
    return { key, size: stored?.size ?? 0, etag: stored?.etag ?? '' };
  }

  #folders(prefix: string, delimiter: string): Page {
    const folders = new Set<string>();
    const entries: Entry[] = [];
    for (const key of this.#keys()) {
      if (!key.startsWith(prefix)) continue;
      const end = key.indexOf(delimiter, prefix.length);
      if (end >= 0) folders.add(key.slice(0, end + 1));
      else entries.push(this.#entry(key));
    }
    return { entries, folders: [...folders], next: undefined };
  }

  #keys(): string[] {
    if (this.#sortedKeys?.length !== this.#parts.objects.size) this.#sortedKeys = undefined;
    this.#sortedKeys ??= [...this.#parts.objects.keys()].sort((a, b) =>
      Buffer.compare(Buffer.from(a), Buffer.from(b)),
    );
    return this.#sortedKeys;
  }
}
