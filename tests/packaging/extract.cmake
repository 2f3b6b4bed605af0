# cmake -DFROM=<page.md> -DTO=<file.cpp> -P extract.cmake
# Writes the first ```cpp block of a page to a file.
cmake_minimum_required(VERSION 3.25)
file(READ ${FROM} page)
string(FIND "${page}" "```cpp\n" begin)
if(begin EQUAL -1)
  message(FATAL_ERROR "${FROM} has no cpp block")
endif()
math(EXPR begin "${begin} + 7")
string(SUBSTRING "${page}" ${begin} -1 block)
string(FIND "${block}" "\n```" end)
string(SUBSTRING "${block}" 0 ${end} block)
file(WRITE ${TO} "${block}\n")
