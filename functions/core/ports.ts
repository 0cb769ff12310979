/** What the rules ask of the world. Adapters are in functions/aws, fakes in test/fakes; a contract suite checks both. */

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  /** With the quotes stripped. */
  readonly etag: string;
  readonly lastModified: Date;
}

export interface StoredText {
  readonly text: string;
  readonly etag: string;
}

/** Small objects of the control plane. The data path of packing has a port of its own. */
export interface ObjectStore {
  readonly bucket: string;
  /** undefined when there is no such object */
  readText(key: string): Promise<StoredText | undefined>;
  writeText(key: string, text: string): Promise<void>;
  /** Writes only if nothing is there yet; of several racers exactly one is told 'written'. */
  createText(key: string, text: string): Promise<'written' | 'exists'>;
  /** Lexicographic order, all pages. */
  list(prefix: string): AsyncIterable<ListedObject>;
}

export interface Clock {
  now(): Date;
}
