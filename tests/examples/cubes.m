% A program for ./gradcheck --program "octave-cli -q tests/examples/cubes.m": y = x^3 + w x, as src/tools/check/PROTOCOL.md says.
% fgetl waits for the byte after the line, which is not sent: lines are read byte by byte. Arrays are in row-major order.
1;

function bytes = take(n)
  bytes = fread(stdin, n, "uint8=>uint8")';
  if numel(bytes) < n
    exit(0);
  end
end

function line = take_line()
  line = "";
  while (c = char(take(1))) != "\n"
    line(end + 1) = c;
  end
end

% The elements, and the shape.
function [x, shape] = take_array()
  start = double(take(10));
  header = char(take(start(9) + 256 * start(10)));
  shape = str2num(["[" regexp(header, '\(([^)]*)\)', "tokens"){1}{1} "]"]);
  type = "double";
  if any(strfind(header, "<i8"))
    type = "int64";
  end
  n = prod([1 shape]);
  x = zeros(1, 0);
  if n
    x = double(typecast(take(8 * n), type));
  end
end

function put(line)
  fwrite(stdout, [line "\n"]);
  fflush(stdout);
end

function put_array(x, shape)
  header = sprintf("%s(%s), }", "{'descr': '<f8', 'fortran_order': False, 'shape': ", sprintf("%d,", shape));
  header = [header repmat(" ", 1, 117 - numel(header)) "\n"];
  fwrite(stdout, [147 "NUMPY" 1 0 numel(header) 0 header], "uint8");
  fwrite(stdout, typecast(x(:)', "uint8"), "uint8");
  fflush(stdout);
end

function y = f(x, w)
  y = x .^ 3 + w .* x;
end

function [dx, dw] = gradient(x, w, dy)
  dx = dy .* (3 * x .^ 2 + w);
  dw = dy .* x;
end

put('{"cases": [{"function": "cubes", "inputs": [{"name": "x", "shape": [2, 3]}, {"name": "w", "shape": [2, 3]}]}]}');
while true
  words = strsplit(take_line(), " ");
  switch words{1}
    case "case"
      put("ok 0");
    case "forward"
      runs = str2double(words{2});
      [x, shape] = take_array();
      w = take_array();
      all = {repmat(x, runs, 1), repmat(w, runs, 1)};
      if str2double(words{3})
        places = reshape(take_array(), 3, [])' + 1;
        values = take_array();
        for i = 1:numel(values)
          all{places(i, 2)}(places(i, 1), places(i, 3)) = values(i);
        end
      end
      put("ok 1");
      put_array(f(all{:})', [runs shape]);
    case "backward"
      dy = reshape(take_array(), [], runs)';
      [dx, dw] = gradient(all{:}, dy);
      put("ok 2");
      put_array(dx', [runs shape]);
      put_array(dw', [runs shape]);
  end
end
