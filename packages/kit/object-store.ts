/** The port to small objects of the control plane. Called by every package that reads or writes the bucket; failures are the adapter's typed errors. */

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  /** With the quotes stripped. */
  readonly etag: string;
  readonly lastModified: Date;
}

interface StoredText {
  readonly text: string;
  readonly etag: string;
  readonly lastModified: Date;
}

export interface StoredBytes {
  readonly bytes: Uint8Array;
  readonly etag: string;
  readonly lastModified: Date;
}

/** Small objects of the control plane. The data path of packing has a port of its own. */
export interface ObjectStore {
  readonly bucket: string;
  /**
   * undefined when there is no such object
   * @param mostBytes a longer object counts as none, and is not read
   */
  readText(key: string, mostBytes?: number): Promise<StoredText | undefined>;
  writeText(key: string, text: string): Promise<void>;
  /** Also when there is no such object. */
  delete(key: string): Promise<void>;
  /** Writes only if nothing is there yet; of several racers exactly one gets 'written'. */
  createText(key: string, text: string): Promise<'written' | 'exists'>;
  /** Writes only over the version with this ETag. */
  replaceText(key: string, text: string, etag: string): Promise<'written' | 'changed'>;
  /** SHA-256 of an object of any size; undefined when there is none, or it lies in an archive of S3. */
  digestOf(key: string): Promise<string | undefined>;
  /** undefined when there is no such object */
  readBytes(key: string): Promise<StoredBytes | undefined>;
  /** As createText. */
  createBytes(key: string, bytes: Uint8Array): Promise<'written' | 'exists'>;
  /** Lexicographic order, all pages. */
  list(prefix: string): AsyncIterable<ListedObject>;
  /** Names of the folders directly under a prefix that ends with a slash, in order. */
  listFolders(prefix: string): Promise<string[]>;
}
