/** A component whose code is loaded when it is first shown. */
import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { Refusal } from './text.tsx';

/** A later deployment has other files. */
const Lost = () => (
  <Refusal text="This part of the page is not there: reload it. A newer version has other parts, or its server has ended." />
);

/** @param load such as `() => import('./run.tsx')`, with the component taken out of the module */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const loaded = signal<ComponentType<P> | undefined>(undefined);
  let isLoading = false;
  return function Later(props: P) {
    const Loaded = loaded.value;
    if (Loaded !== undefined) return <Loaded {...props} />;
    if (!isLoading)
      load().then(
        (component) => {
          // A signal that is given a function keeps it.
          loaded.value = component;
        },
        () => {
          loaded.value = Lost;
        },
      );
    isLoading = true;
    return <p>Reading the API…</p>;
  };
}
