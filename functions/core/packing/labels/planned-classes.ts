/** The class of each planned sample by its key. Equal texts are held once. */
export class PlannedClasses {
  readonly #classes: (string | undefined)[] = [];
  readonly #names = new Map<string, string>();

  note(sample: number, label: string): void {
    const shared = this.#names.get(label) ?? label;
    this.#names.set(shared, shared);
    this.#classes[sample] = shared;
  }

  /** Its label is read only when it is packed. */
  forget(sample: number): void {
    this.#classes[sample] = undefined;
  }

  of(sample: number): string | undefined {
    return this.#classes[sample];
  }
}
