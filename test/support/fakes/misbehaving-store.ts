import type { BlobStore } from '@tidewheel/packing/store.ts';

/** A store of which some calls answer otherwise. */
export function misbehaving(store: BlobStore, other: Partial<BlobStore>): BlobStore {
  return new Proxy<BlobStore>(store, {
    get: (target, name) => {
      const mine: unknown = Reflect.get(other, name);
      if (mine !== undefined) return mine;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
