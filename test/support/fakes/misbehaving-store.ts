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

/** A store of which each call is first shown to `see`, which may delay it. */
export const watched = (
  store: BlobStore,
  see: (name: string | symbol, given: readonly unknown[]) => unknown,
): BlobStore =>
  new Proxy<BlobStore>(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]): Promise<unknown> => {
        await see(name, given);
        return Reflect.apply(member, target, given);
      };
    },
  });
