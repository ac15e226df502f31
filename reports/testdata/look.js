// Looks at a page as its readers do. Each function returns a list of what is wrong, so an empty list means that all is
// well.
globalThis.look = (() => {
  const name = e => e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') +
    [...e.classList].map(c => '.' + c).join('') + ' "' + e.textContent.trim().slice(0, 40) + '"';
  const seen = e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true });
  const parse = s => {
    const n = (s.match(/[\d.]+/g) || []).map(Number);
    if (n.length < 3) return null; // none, or a reference to a gradient
    return s.startsWith('color(srgb') ? [n[0] * 255, n[1] * 255, n[2] * 255, n[3] ?? 1] : [n[0], n[1], n[2], n[3] ?? 1];
  };
  const over = (top, below) => below.map((b, i) => top[i] * top[3] + b * (1 - top[3]));
  const light = rgb => {
    const [r, g, b] = rgb.map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const opacity = e => {
    let all = 1;
    for (; e; e = e.parentElement) all *= +getComputedStyle(e).opacity;
    return all;
  };
  const isShape = e => e instanceof SVGGeometryElement;
  // paint returns the colour of an element itself, with its alpha, or null.
  const paint = e => {
    const s = getComputedStyle(e), c = parse(isShape(e) ? s.fill : s.backgroundColor);
    if (!c || e instanceof SVGElement && !isShape(e)) return null;
    c[3] *= opacity(e) * (isShape(e) ? +s.fillOpacity : 1);
    return c[3] > 0 ? c : null;
  };
  // ground returns the colour behind e at a point, without what lies on top of e; null if e is not there.
  const ground = (e, x, y) => {
    const stack = document.elementsFromPoint(x, y), from = stack.findIndex(s => s === e || e.contains(s));
    if (from < 0) return null;
    let rgb = matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
    for (const s of stack.slice(from).reverse()) {
      const c = s === e && isShape(e) ? null : paint(s);
      if (c) rgb = over(c, rgb);
    }
    return rgb;
  };
  const hex = rgb => '#' + rgb.slice(0, 3).map(v => Math.round(v).toString(16).padStart(2, '0')).join('');

  // contrast lists texts below the ratio of WCAG 2 AA, each combination of colours once, and the number of texts.
  const contrast = () => {
    const bad = new Map();
    let texts = 0;
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let t; (t = walk.nextNode());) {
      const e = t.parentElement;
      if (!t.data.trim() || ['STYLE', 'SCRIPT', 'title'].includes(e.tagName) || !seen(e)) continue;
      const range = document.createRange();
      range.selectNodeContents(t);
      const box = [...range.getClientRects()].find(r => r.width > 1 && r.height > 1);
      const below = box && ground(e, box.x + box.width / 2, box.y + box.height / 2);
      if (!below) continue;
      texts++;
      const s = getComputedStyle(e), c = parse(e instanceof SVGElement ? s.fill : s.color);
      c[3] *= opacity(e);
      const size = parseFloat(s.fontSize), large = size >= 24 || size >= 18.66 && +s.fontWeight >= 700;
      const found = ratio(over(c, below), below);
      if (found < (large ? 3 : 4.5)) bad.set(hex(c) + hex(below), `${name(e)} ${hex(c)} on ${hex(below)}: ${found.toFixed(2)}`);
    }
    return { texts, bad: [...bad.values()] };
  };

  // keys lists the marks of legends that do not stand out from their ground by 3 to 1, as WCAG 2 AA wants of graphics.
  const keys = () => [...document.querySelectorAll('.key, .stroke')].filter(seen).flatMap(e => {
    const s = getComputedStyle(e), box = e.getBoundingClientRect();
    const below = ground(e.parentElement, box.x - 1, box.y + box.height / 2);
    if (!below || box.width === 0) return [];
    const edge = parseFloat(s.borderTopWidth) > 0 ? parse(s.borderTopColor) : null;
    const all = [paint(e), edge].filter(Boolean).map(c => ratio(over(c, below), below));
    return Math.max(1, ...all) < 3 ? [`${e.className}: ${Math.max(1, ...all).toFixed(2)}`] : [];
  });

  // wide lists what makes the page scroll sideways.
  const wide = () => {
    const room = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= room) return [];
    const out = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > room + 1 &&
      !e.parentElement.closest('.scroll, .drawing, .strip, #canvas, #legend'));
    return [`${document.documentElement.scrollWidth} of ${room} pixels`, ...out.slice(0, 5).map(name)];
  };

  // outside lists texts of pictures that leave their section, and on a wide screen tables that have to be scrolled.
  const outside = () => [...document.querySelectorAll('section svg text')].filter(e => {
    const box = e.getBoundingClientRect(), room = e.closest('section').getBoundingClientRect();
    return seen(e) && box.width > 0 && (box.left < room.left || !e.closest('.plot') && box.right > room.right);
  }).concat(innerWidth < 1400 ? [] : [...document.querySelectorAll('.scroll')].filter(e =>
    seen(e) && e.scrollWidth > e.clientWidth + 1)).map(name);

  // cut lists texts that are there and cannot be read: hidden, or longer than their boxes. A text of a picture may be cut
  // if a table has all of it. What only a screen shows, such as the steps of a walk, may be left out.
  const cut = leftOut => {
    const cells = [...document.querySelectorAll('td')].map(e => e.textContent).join('\n');
    const told = e => e.closest('.words') && [...e.childNodes].every(n => cells.includes(n.textContent.trim()));
    const short = e => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1;
    const all = [...document.querySelectorAll('main .words p, main td, main p, main dd, main li, main pre')];
    return all.filter(e => e.textContent.trim() && !e.closest(leftOut) &&
      (!seen(e) || [...e.querySelectorAll('*')].some(i => !seen(i)) || short(e) && !told(e))).map(name).slice(0, 8);
  };

  const focusable = 'a[href], summary, input, button, [tabindex]';
  // unreachable lists what can be clicked and not reached by the keyboard.
  const unreachable = () => [...document.querySelectorAll('body *')].filter(e => {
    if (!seen(e) || getComputedStyle(e).cursor !== 'pointer' && !e.onclick) return false;
    return !e.closest(focusable) && !e.closest('label')?.control;
  }).map(name);
  // stops counts where Tab should stop: a group of radio buttons is one stop.
  const stops = () => {
    const groups = new Set();
    return [...document.querySelectorAll(focusable)].filter(e => {
      if (!e.checkVisibility({ visibilityProperty: true })) return false;
      if (e.type !== 'radio') return true;
      return !groups.has(e.name) && groups.add(e.name);
    }).length;
  };
  // focused describes what has the focus; ring says whether one sees that.
  const focused = () => {
    const e = document.activeElement;
    if (!e || e === document.body) return { name: '' };
    const shown = e.type === 'radio' ? e.closest('.walk').querySelector('.strip') : e;
    const s = getComputedStyle(shown), box = shown.getBoundingClientRect();
    return {
      name: e.id || name(e), tag: e.tagName.toLowerCase(), type: e.type || '', href: e.getAttribute('href') || '',
      open: !!e.closest('details')?.open, ends: !!e.closest(focusable),
      ring: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 && box.width > 0 && box.height > 0,
    };
  };
  // followed keeps links from leaving the page, and lists those that were used.
  const followed = [];
  document.addEventListener('click', e => {
    const a = e.target.closest?.('a[href]');
    if (a) { e.preventDefault(); followed.push(a.getAttribute('href')); }
  }, true);
  const links = () => [...document.querySelectorAll('a[href]')].map(a => a.getAttribute('href'));

  // step describes the chosen step of a walk: what is beside the picture, and where the veil begins.
  const step = id => {
    const w = document.getElementById(id + '-0').closest('.walk');
    const shown = [...w.querySelectorAll('.state')].filter(seen);
    const veil = w.querySelector('.veil');
    return {
      shown: shown.length, number: shown[0]?.querySelector('.turn b')?.textContent || '',
      veil: seen(veil) ? veil.getBoundingClientRect().top : -1,
      bright: [...w.querySelectorAll('.strip label')].filter(paint).map(l => l.textContent),
    };
  };
  return { contrast, keys, wide, outside, cut, unreachable, stops, focused, followed, links, step };
})();
